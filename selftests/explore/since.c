// SPDX-License-Identifier: GPL-2.0
/* See since.h. */
#include "since.h"
#include "laws.h"

static struct mc_table *const table = mc_world.table;

/**
 * since_set_up() - give the epochs their starts, and a key to the oldest one
 */
void since_set_up(void)
{
	__u64 e;
	__u32 j;

	for (e = SINCE_EPOCH; e <= SCENE_EPOCH; e++)
		table->state.ring[e & 7].start_ns = 2 * e;
	mc_world.clock = 2 * SCENE_EPOCH;
	for (j = 0; j < mc.scene->parts; j++)
		table->line[j].lane[SINCE_EPOCH & 7] = epf_tag(SINCE_EPOCH) |
						       epf_lane_positions(scene_mask(SINCE_PAST));
}

/* ---- programs ---- */

static __u64 clock(enum mc_kind kind)
{
	struct mc_op op = {
		.kind = kind, .word = mc_word(&mc_world.clock), .value = 1, .where = "clock"
	};

	return mc_access(&op).value;
}

/**
 * since_begin() - the time at which an insertion begins
 */
__u64 since_begin(void)
{
	__u64 now = clock(MC_ADD) + 1;

	mc_do(MC_FENCE, 0);
	return now;
}

/**
 * since_rotate() - epf_table_end_epoch() and ebpf_rotate()
 */
void since_rotate(struct epf_state *s)
{
	__u64 now = clock(MC_LOAD);

	epf_state_rotate(s, now);
	if (!(mc.out & MC_DATE_LOOSE))
		mc_do(MC_FENCE, 0);
	if (!(mc.out & MC_DATE_EARLY))
		now = clock(MC_LOAD);
	epf_state_date(s, now);
	mc_note(MC_DATED, 0, 0, 0, s->epoch);
}

/* epf_filter_swap(), and replace() of user/ebpf/change.c */
static void change(void)
{
	__u64 *began = &mc_world.began[1];
	bool late = mc.out & MC_BEGAN_LATE;

	if (!late)
		epf_store_release(began, EPF_BEGAN_NEVER);
	epf_store_release(&mc_world.handle[0], 1);
	if (late)
		epf_store_release(began, EPF_BEGAN_NEVER);
	if (!(mc.out & MC_NO_GRACE)) {
		mc_do(MC_GRACE_START, 0);
		mc_do(MC_GRACE_WAIT, 0);
	}
	epf_store_release(began, clock(MC_LOAD));
}

/* The load of @began is before the fence in epf_state_since(); its address depends on the table. */
static __u64 since(int number)
{
	return epf_state_since(&table[number].state, mc_load(&mc_world.began[number], "since_ask"));
}

/* Is the key there, and since when are all keys? */
static void since_ask(const struct scene_role *r)
{
	bool early = mc.out & MC_SINCE_EARLY;
	struct epf_lanes f;
	struct epf_probe p;
	__u64 ns = 0;
	int number = 0, verdict;

	if (r->n) {
		scene_enter();
		number = (int)epf_load_acquire(&mc_world.handle[0]);
	}
	f = scene_lanes(number);
	p = scene_probe(table[number].line, r->key);
	if (early)
		ns = since(number);
	verdict = epf_lanes_test(&f, &p);
	if (!early)
		ns = since(number);
	mc_note(MC_SINCE, r->key, 0, verdict, ns);
	if (r->n)
		scene_leave();
}

/**
 * since_run() - run the program of a thread
 * @r: its role
 */
void since_run(const struct scene_role *r)
{
	if (r->act == ACT_SINCE)
		since_ask(r);
	else if (r->act == ACT_CHANGE)
		change();
}

/* ---- properties ---- */

/**
 * since_starts() - check the starts of epochs against the insertions that are over
 */
void since_starts(void)
{
	const struct mc_done *d = mc.ghost.done;
	int i;

	for (i = 0; i < mc.ghost.nr_done; i++, d++)
		if (d->epoch && d->epoch < mc.ghost.dated &&
		    mc_newest(&table->state.ring[(d->epoch + 1) & 7].start_ns) < d->began)
			law_broken("date: an insertion into an epoch that was over");
}

/* Check what thread @t was told of a key that is absent. */
static void since_holds(int t, const struct mc_op *op)
{
	const struct mc_done *d = mc.ghost.done;
	__u64 least = op->key == SINCE_PAST ? 2 * SINCE_EPOCH + 1 : 0;
	int i;

	for (i = 0; i < mc.ghost.nr_done; i++, d++)
		if (d->key == op->key && scene_after(mc.scene, t, d->thread) && least < d->began)
			least = d->began;
	if (op->old < least)
		law_broken("since: a key that was inserted later is told absent");
}

/**
 * since_note() - check what a thread reports
 * @t: thread
 * @op: MC_NOTE. MC_DATED: epoch @op->old has its start; MC_SINCE: the answer for @op->key, and
 *	since when all is retained
 */
void since_note(int t, const struct mc_op *op)
{
	if (op->value == MC_DATED) {
		mc.ghost.dated = (__u8)op->old;
		since_starts();
	} else if (!op->verdict) {
		since_holds(t, op);
	}
}
