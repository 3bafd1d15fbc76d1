// SPDX-License-Identifier: GPL-2.0
/* See mirror.h. Table 0 has the journal. */
#include "mirror.h"
#include "laws.h"

#include <epf/journal.h>

static struct mc_journal *const journal = &mc_world.journal;

static struct epf_journal_ring ring_of(void)
{
	struct epf_journal_ring r = { &journal->shard, journal->record, mc.scene->mirror - 1u, 0 };

	return r;
}

/**
 * mirror_set_up() - set up an empty ring, in use unless a thread begins the journal
 * @s: scene
 */
void mirror_set_up(const struct mc_scene *s)
{
	struct epf_journal_ring r = { &journal->shard, journal->record, s->mirror - 1u, 0 };
	int t;

	epf_journal_init(&r);
	journal->kept = 1;
	for (t = 0; t < s->threads; t++)
		if (s->role[t].act == ACT_MIRROR_NEW)
			journal->kept = 0;
}

/* ---- the module: kmod/table.h, kmod/rotate.c, kmod/journal.c, kmod/filter.c ---- */

static void put(__u64 kind, __u64 epoch, __u64 value, __u64 more)
{
	struct epf_journal_ring r = ring_of();

	epf_journal_put(&r, kind, epoch, value, more);
}

/* Insert into filter @r->n. */
static void insert(const struct scene_role *r)
{
	__u64 e, lanes = 0;
	int table;
	bool kept;

	scene_enter();
	table = (int)epf_load_acquire(&mc_world.handle[r->n]);
	kept = !table && epf_load_acquire(&journal->kept);
	e = scene_insert(table, r->key, &lanes);
	if (kept)
		put(EPF_JOURNAL_INSERT, e, r->key, lanes);
	scene_leave();
}

static void rotate(void)
{
	struct epf_state *s = &mc_world.table[0].state;

	scene_lock(true);
	epf_state_rotate(s, 0);
	if (!(mc.out & MC_ROTATE_QUIET))
		put(EPF_JOURNAL_ROTATE, s->epoch, 0, 1);
	mc_do(MC_UNLOCK, 0);
}

/* As epf_journal_over_locked(). Caller holds the lock. */
static void end_journal(void)
{
	bool late = mc.out & MC_END_LATE;

	if (!epf_load(&journal->kept))
		return;
	if (!late)
		epf_store_release(&journal->over, 1);
	epf_store_release(&journal->kept, 0);
	if (late)
		epf_store_release(&journal->over, 1);
}

/* Filters 0 and 1 exchange their tables; the journal of table 0 ends. */
static void swap(void)
{
	bool late = mc.out & MC_SWAP_LATE;

	if (late)
		epf_store_release(&mc_world.handle[0], 1);
	scene_lock(true);
	end_journal();
	if (mc.out & MC_SWAP_LOOSE)
		mc_do(MC_UNLOCK, 0);
	if (!late)
		epf_store_release(&mc_world.handle[0], 1);
	if (!(mc.out & MC_SWAP_LOOSE))
		mc_do(MC_UNLOCK, 0);
	epf_store_release(&mc_world.handle[1], 0);
}

/* ---- the mirror: user/libepf/mirror.c ---- */

/**
 * struct mirror - the reader's copy of a filter
 * @line: its lines
 * @epoch: its epoch
 * @next: position to read next
 * @lost: the ring's count of lost records when the copy began
 */
struct mirror {
	struct epf_line line[EPF_PARTS_MAX];
	__u64 epoch;
	__u64 next, lost;
};

static struct epf_lanes lanes_of(struct mirror *m)
{
	struct epf_lanes f = { m->line, &m->epoch, { 1, mc.scene->parts, 2, 0 } };

	return f;
}

static void note_positions(struct mirror *m)
{
	m->lost = epf_load_acquire(&journal->shard.lost);
	m->next = epf_load_acquire(&journal->shard.next);
}

static void copy_lines(struct mirror *m)
{
	struct epf_lanes f = lanes_of(m);
	__u32 i, j;

	for (j = 0; j < mc.scene->parts; j++)
		for (i = 0; i < EPF_LANES; i++)
			m->line[j].lane[i] = epf_load(&mc_world.table[0].line[j].lane[i]);
	epf_lanes_scan(&f, 0, mc.scene->parts);
}

/* Copy the filter. Return: false if it no longer has the table of the journal. */
static bool copy(struct mirror *m)
{
	bool same;

	if (!(mc.out & MC_MIRROR_LATE))
		note_positions(m);
	same = !epf_load_acquire(&mc_world.handle[0]); /* SNAP_BEGIN */
	scene_lock(true);
	m->epoch = mc_world.table[0].state.epoch;
	mc_do(MC_UNLOCK, 0);
	copy_lines(m);
	if (mc.out & MC_MIRROR_LATE)
		note_positions(m);
	return same;
}

/* EPF_IOC_JOURNAL */
static void begin_journal(void)
{
	scene_lock(true);
	epf_store_release(&journal->kept, 1);
	mc_do(MC_UNLOCK, 0);
	if (mc.out & MC_JOURNAL_NOW)
		return;
	mc_do(MC_GRACE_START, 7);
	mc_do(MC_GRACE_WAIT, 7);
}

static void apply(struct mirror *m, const struct epf_journal_record *rec)
{
	struct epf_probe p = scene_probe(m->line, (int)rec->value);
	__u64 x;
	__u32 age, j;

	if (m->epoch < rec->epoch)
		m->epoch = rec->epoch;
	if ((rec->seq & EPF_JOURNAL_KIND_MASK) == EPF_JOURNAL_ROTATE)
		return;
	for (age = 0; age < EPF_LANES; age++) {
		x = rec->epoch - age;
		if (!(rec->more >> (x & 7) & 1) || x + EPF_LANES <= m->epoch ||
		    (age && mc.out & MC_MIRROR_ONE))
			continue;
		for (j = 0; j < p.parts; j++)
			epf_lane_set(&p.line[j]->lane[x & 7], p.mask[j], x);
	}
}

/* Apply the records there are, at most @most. Return: 0; -EOVERFLOW. */
static int follow(struct mirror *m, int most)
{
	struct epf_journal_ring ring = ring_of();
	struct epf_journal_record rec;
	int got = 1;

	while (most-- && got > 0 && m->next < epf_load_acquire(&journal->shard.next)) {
		got = epf_journal_get(&ring, m->next, &rec);
		if (got > 0) {
			apply(m, &rec);
			m->next++;
		}
	}
	return got < 0 ? got : 0;
}

/* Report the result. In a swap: whether the mirror has the key of thread A; else, as no
 * thread writes any more, the whole contents of the mirror.
 */
static void tell(struct mirror *m, bool told)
{
	struct epf_lanes f = lanes_of(m);
	int key = mc.scene->role[0].key;
	__u32 i;
	struct epf_probe p = scene_probe(m->line, key);

	if (scene_swaps(mc.scene)) {
		told = epf_load_acquire(&journal->over) || told;
		mc_note(MC_MIRRORED, key, 0, told || epf_lanes_test(&f, &p), 0);
		return;
	}
	if (!told && m->next < epf_load_acquire(&journal->shard.next))
		law_broken("found: the mirror waits for ever");
	mc_note(MC_MIRRORED, -1, 0, told, m->epoch);
	for (i = 0; i < EPF_LANES && !told; i++)
		mc_note(MC_MIRRORED, (int)i, 0, 0, m->line[0].lane[i]);
}

static void read_mirror(const struct scene_role *r)
{
	/* In a swap the mirror began before all others, when the lines were empty. */
	struct mirror m = { .epoch = SCENE_EPOCH, .next = mc.scene->mirror };
	bool told = false;

	if (r->act == ACT_MIRROR_NEW)
		begin_journal();
	if (r->act == ACT_MIRROR_NEW || !scene_swaps(mc.scene))
		told = !copy(&m);
	told = told || follow(&m, r->n) < 0;
	mc_do(MC_AWAIT, r->await);
	told = told || follow(&m, MC_KEYS) < 0 || epf_load_acquire(&journal->shard.lost) != m.lost;
	tell(&m, told);
}

/**
 * mirror_run() - run the program of a thread
 * @r: its role
 */
void mirror_run(const struct scene_role *r)
{
	int i;

	switch (r->act) {
	case ACT_MIRROR:
	case ACT_MIRROR_NEW:
		read_mirror(r);
		break;
	case ACT_SWAP:
		swap();
		break;
	case ACT_ROTATE:
		for (i = 0; i < r->n; i++)
			rotate();
		break;
	default:
		insert(r);
	}
}

/* ---- properties ---- */

static int records(void)
{
	int t, n = 0;

	for (t = 0; t < mc.scene->threads; t++) {
		const struct scene_role *r = &mc.scene->role[t];

		n += r->act == ACT_ROTATE ? r->n : r->act == ACT_FILTER_INSERT;
	}
	return n;
}

/* Positions in lane @i if its tag is that of a retained epoch at @epoch, else 0. */
static __u64 settled(__u64 v, __u64 epoch, __u32 i)
{
	return (v & EPF_TAG_MASK) == epf_lane_tag(epoch, i) ? v & ~EPF_TAG_MASK : 0;
}

/**
 * mirror_note() - check what the mirror reports
 * @op: MC_NOTE, MC_MIRRORED. In a swap: a key, and whether it is found or the journal is
 *	over. Else with @op->key -1: whether a loss was reported, and the mirror's epoch;
 *	with other values: a lane, and its contents
 */
void mirror_note(const struct mc_op *op)
{
	__u64 epoch = mc_newest(&mc_world.table[0].state.epoch);

	if (scene_swaps(mc.scene)) {
		if (!op->verdict)
			law_broken("found: a key is not in the mirror of a journal that goes on");
		return;
	}
	if (op->verdict) {
		if (records() <= mc.scene->mirror)
			law_broken("room: told of a loss where there is none");
		return;
	}
	if (op->key < 0 && op->old != epoch)
		law_broken("equal: the mirror is at another epoch");
	if (op->key >= 0 && settled(op->old, epoch, (__u32)op->key) !=
				    settled(mc_newest(&mc_world.table[0].line[0].lane[op->key]),
					    epoch, (__u32)op->key))
		law_broken("equal: a lane of the mirror differs");
}
