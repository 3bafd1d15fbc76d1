// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of a journal: programs and properties. See journal.h.
 */
#include "journal.h"
#include "laws.h"

#include <epf/journal.h>

#define TORN (-1)
#define AGAIN (-2)
#define STUCK (-3)

static struct epf_journal_ring ring_of(void)
{
	struct epf_journal_ring r = { &mc_world.journal.shard, mc_world.journal.record,
				      mc.scene->journal - 1u, 0 };

	return r;
}

/**
 * journal_set_up() - set up an empty ring
 * @s: scene
 */
void journal_set_up(const struct mc_scene *s)
{
	struct epf_journal_ring r = { &mc_world.journal.shard, mc_world.journal.record,
				      s->journal - 1u, 0 };

	epf_journal_init(&r);
}

/* ---- programs ---- */

static void put(int key)
{
	struct epf_journal_ring r = ring_of();
	__u64 v = (__u64)key + 1;

	mc_note(MC_STARTS, key, 0, 0, 0);
	epf_fetch_or(&mc_world.journal.line, 1ULL << key);
	epf_journal_put(&r, EPF_JOURNAL_INSERT, v, v << 8, v << 16);
	mc_note(MC_INSERTED, key, 0, 0, 0);
}

/**
 * struct reader - state of the reader
 * @next: position to read next
 * @lost: the ring's count of lost records when the copy began
 * @keys: keys that the copy has, as bits
 * @read: keys read from records, as bits
 */
struct reader {
	__u64 next, lost, keys, read;
};

/* Read one record. Return: 1: more may follow; 0: there is none yet; -EOVERFLOW. */
static int read_one(struct reader *r)
{
	struct epf_journal_ring ring = ring_of();
	struct epf_journal_record rec;
	int got = epf_journal_get(&ring, r->next, &rec);
	__u64 key = rec.epoch - 1;

	if (got <= 0)
		return got;
	if (!rec.epoch || key >= MC_KEYS || rec.value != rec.epoch << 8 ||
	    rec.more != rec.epoch << 16)
		mc_note(MC_TESTED, 0, 0, TORN, 0);
	else if (r->read >> key & 1)
		mc_note(MC_TESTED, 0, 0, AGAIN, 0);
	r->read |= 1ULL << key;
	r->next++;
	return 1;
}

/* Read the records there are, at most @most. Return: 0; -EOVERFLOW. */
static int read_all(struct reader *r, int most)
{
	int got = 1;

	while (most-- && got > 0 && r->next < epf_load_acquire(&mc_world.journal.shard.next))
		got = read_one(r);
	return got < 0 ? got : 0;
}

static void follow(const struct scene_role *role)
{
	struct epf_journal_shard *s = &mc_world.journal.shard;
	struct reader r = { 0 };
	bool told;

	r.lost = epf_load_acquire(&s->lost);
	r.next = epf_load_acquire(&s->next);
	r.keys = epf_load(&mc_world.journal.line);
	told = read_all(&r, role->n) < 0;
	mc_do(MC_AWAIT, role->await);
	told = told || read_all(&r, MC_KEYS) < 0 || epf_load_acquire(&s->lost) != r.lost;
	if (!told && r.next < epf_load_acquire(&s->next))
		mc_note(MC_TESTED, 0, 0, STUCK, 0);
	mc_note(MC_TESTED, 0, 0, told, r.keys | r.read);
}

/* As bpf/epf_inline.bpf.h: who finds the key there writes nothing. */
static void put_new(int key)
{
	struct epf_journal_ring r = ring_of();
	__u64 v = (__u64)key + 1;

	scene_enter();
	mc_note(MC_STARTS, key, 0, 0, 0);
	if (!(epf_fetch_or(&mc_world.journal.line, 1ULL << key) >> key & 1))
		epf_journal_put(&r, EPF_JOURNAL_INSERT, v, v << 8, v << 16);
	mc_note(MC_INSERTED, key, 0, 0, 0);
	scene_leave();
}

/* As libepf/tail.c, once the threads of @role->await have returned. */
static void tail(const struct scene_role *role)
{
	struct reader r = { .next = mc.scene->journal };
	bool told;

	mc_do(MC_AWAIT, role->await);
	if (!(mc.out & MC_NO_GRACE)) { /* EPF_JOURNAL_SYNC */
		mc_do(MC_GRACE_START, 7);
		mc_do(MC_GRACE_WAIT, 7);
	}
	told = read_all(&r, MC_KEYS) < 0;
	mc_note(MC_TESTED, 0, 0, told, r.read);
}

/**
 * journal_run() - run the program of a thread
 * @r: its role
 */
void journal_run(const struct scene_role *r)
{
	int i;

	if (r->act == ACT_FOLLOW)
		follow(r);
	else if (r->act == ACT_TAIL)
		tail(r);
	else if (r->act == ACT_PUT_NEW)
		put_new(r->key);
	else
		for (i = 0; i < r->n; i++)
			put(r->key + i);
}

/* ---- properties ---- */

static __u64 keys_put(void)
{
	__u64 keys = 0;
	int key;

	for (key = 0; key < MC_KEYS; key++)
		keys |= (__u64)(mc.ghost.inserts[key] > 0) << key;
	return keys;
}

static int records(void)
{
	int t, n = 0;

	for (t = 0; t < mc.scene->threads; t++)
		if (mc.scene->role[t].act == ACT_PUT || mc.scene->role[t].act == ACT_PUT_NEW)
			n += mc.scene->role[t].n;
	return n;
}

/* Check the final state of the reader; @op->old: the keys it has. */
static void ended(const struct mc_op *op)
{
	if (op->verdict && records() <= mc.scene->journal)
		law_broken("room: told of a loss where there is none");
	if (!op->verdict && op->old != keys_put())
		law_broken("told: a key is in neither copy nor record");
}

/**
 * journal_note() - check what a thread reports
 * @op: MC_NOTE; for MC_TESTED @op->verdict: what the reader found, or whether a loss was
 *	reported to it
 */
void journal_note(const struct mc_op *op)
{
	if (op->value == MC_INSERTED)
		mc.ghost.inserts[op->key]++;
	if (op->value != MC_TESTED)
		return;
	if (op->verdict == TORN)
		law_broken("torn: a record that nobody put");
	else if (op->verdict == AGAIN)
		law_broken("torn: a record is read twice");
	else if (op->verdict == STUCK)
		law_broken("told: the reader waits for ever");
	else
		ended(op);
}
