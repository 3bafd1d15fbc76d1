// SPDX-License-Identifier: GPL-2.0
/* See worker.h. */
#include "worker.h"
#include "laws.h"

#include <epf/estimate.h>

static void store(__u64 e, const struct epf_fill *fill)
{
	bool loose = mc.out & MC_ESTIMATE_LOOSE;
	__u64 begun = mc.out & MC_ESTIMATE_OFF ? e : e + 1, now;
	__u64 bits[EPF_LANES];
	__u32 i;

	memcpy(bits, fill->bits, sizeof(bits));
	if (!loose)
		scene_lock(true);
	now = epf_load(&mc_world.table[0].state.epoch);
	for (; begun <= now && !(mc.out & MC_ESTIMATE_KEEP); begun++)
		bits[begun & 7] = 0;
	if (loose) /* a step, before which other threads may run */
		epf_load(&mc_world.table[0].state.epoch);
	for (i = 0; i < EPF_LANES; i++)
		mc_note(MC_ESTIMATED, (int)i, 0, 0, bits[i]);
	if (!loose)
		mc_do(MC_UNLOCK, 0);
}

/**
 * worker_estimate() - epf_table_estimate()
 */
void worker_estimate(void)
{
	static const struct epf_cover cover; /* rates do not matter here */
	struct epf_lanes f = scene_lanes(0);
	struct epf_fill fill;
	__u64 e = 0;

	memset(&fill, 0, sizeof(fill));
	if (!(mc.out & MC_ESTIMATE_LATE))
		e = epf_load(f.epoch);
	epf_fill_add(&fill, &cover, &f, 0);
	if (mc.out & MC_ESTIMATE_LATE)
		e = epf_load(f.epoch);
	store(e, &fill);
}

/**
 * worker_rotate() - epf_table_end_epoch(): a lane is reused
 */
void worker_rotate(void)
{
	struct epf_state *s = &mc_world.table[0].state;

	scene_lock(true);
	epf_state_rotate(s, 0);
	mc_note(MC_EMPTIED, (int)(s->epoch & 7), 0, !(mc.out & MC_ESTIMATE_ROTATE), 0);
	mc_do(MC_UNLOCK, 0);
}

/* ---- properties ---- */

/* Set bits of lane @i in the epoch that is in it at @epoch. */
static __u64 bits_of(__u64 v, __u64 epoch, __u32 i)
{
	return (v & EPF_TAG_MASK) == epf_lane_tag(epoch, i) ? epf_popcount(v & ~EPF_TAG_MASK) : 0;
}

static void not_more(void)
{
	__u64 epoch = mc_newest(&mc_world.table[0].state.epoch);
	__u32 i;

	for (i = 0; i < EPF_LANES; i++)
		if (mc.ghost.estimate[i] >
		    bits_of(mc_newest(&mc_world.table[0].line[0].lane[i]), epoch, i))
			law_broken("estimate: of an epoch that has gone");
}

/* Epochs that have begun since the estimate are not checked. */
static void not_less(__u32 i)
{
	__u64 epoch = mc_newest(&mc_world.table[0].state.epoch);
	__u64 begun = epoch - ((epoch - i) & 7); /* the one in lane i */

	if (begun <= SCENE_EPOCH &&
	    mc.ghost.estimate[i] < bits_of(mc.first.table[0].line[0].lane[i], SCENE_EPOCH, i))
		law_broken("estimate: bits that were there are not in it");
}

/**
 * worker_note() - check what was stored
 * @op: MC_NOTE. MC_ESTIMATED: @op->old bits for lane @op->key; MC_EMPTIED: none, if
 *	@op->verdict
 */
void worker_note(const struct mc_op *op)
{
	if (op->value == MC_ESTIMATED) {
		mc.ghost.estimate[op->key] = (__u8)op->old;
		not_less((__u32)op->key);
		if (op->key < (int)EPF_LANES - 1)
			return; /* more follow */
	} else if (op->verdict) {
		mc.ghost.estimate[op->key] = 0;
	}
	not_more();
}
