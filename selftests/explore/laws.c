// SPDX-License-Identifier: GPL-2.0
/*
 * The properties of every execution on lanes. Those of kind elastic are in
 * elastic_laws.c, those of a journal in journal.c, of its reader in mirror.h, and of
 * the estimate in worker.h, of the start of epochs in since.h.
 *
 *   window     For an insert that returns e there is a moment, not after its end, at
 *              which e is current and the key is in all lanes of e. e is not older
 *              than the newest epoch at the insert's last step (MC_SC; in MC_WEAK: at
 *              the moment its last read-modify-write took effect, or the newest value
 *              that it loaded with acquire existed). The key stays in these lanes until
 *              epoch e+8 begins. Until then a later test or test-and-insert finds it,
 *              with an age that is not too old. Later means: by a thread that awaited
 *              the end of the inserter.
 *   gone       A key whose last insertion was in epoch e is not found by an operation
 *              that begins in epoch e+8 or later.
 *   sightings Of all concurrent test-and-inserts ("sightings") of a new key at least
 *              one gets "absent"; exactly one if no rotation fell between them, that
 *              is, if all began with the epoch that is the newest when all have ended.
 *   counts     No more insertions are counted for an epoch than were made in it, and no
 *              epoch ends before the promised number.
 *   freed      No table is accessed after it was freed or before it was made.
 */
#include "laws.h"
#include "elastic.h"
#include "journal.h"
#include "mirror.h"
#include "scene.h"
#include "since.h"
#include "worker.h"

/* Only the first violation is reported. */
void law_broken(const char *law)
{
	if (!mc.broke)
		mc.broke = law;
}

/* ---- memory ---- */

static __u64 epoch_of(int table)
{
	return mc_newest(&mc_world.table[table].state.epoch);
}

/* Is the key in all its lanes of epoch @e right now? */
static bool in_lanes(int table, int key, __u64 e)
{
	__u32 j;

	for (j = 0; j < mc.scene->parts; j++)
		if (!epf_lane_holds(mc_newest(&mc_world.table[table].line[j].lane[e & 7]),
				    scene_mask(key), e))
			return false;
	return true;
}

static void note_live(int table)
{
	__u64 e = epoch_of(table);
	int key;

	for (key = 0; key < MC_KEYS; key++)
		if (mc.ghost.active[key] && in_lanes(table, key, e))
			mc.ghost.live[table][key] |= 1ULL << e;
}

static void all_kept(void)
{
	const struct mc_done *d = mc.ghost.done;
	int i;

	for (i = 0; i < mc.ghost.nr_done; i++, d++)
		if (d->epoch && !(mc.sync.freed >> d->table & 1) &&
		    epoch_of(d->table) - d->epoch <= EPF_LIVE_EPOCHS &&
		    !in_lanes(d->table, d->key, d->epoch))
			law_broken("window: an inserted key is gone from its lanes");
}

static void count_holds(void)
{
	__u64 v = mc_newest(&mc_world.table[0].state.count);

	if ((v & EPF_COUNT_MASK) > mc.ghost.inserts[v >> EPF_COUNT_BITS])
		law_broken("counts: more than were inserted in this epoch");
}

/**
 * law_access() - check the access to a word
 * @word: its number
 */
void law_access(int word)
{
	int size = sizeof(struct mc_table) / sizeof(__u64);

	if (mc.scene->elastic)
		elastic_access(word);
	else if (word / size < MC_TABLES && mc.sync.freed >> word / size & 1)
		law_broken("freed: a table is accessed after it was freed");
}

/**
 * law_load() - check the result of a load
 * @word: its number
 * @v: value loaded
 */
void law_load(int word, __u64 v)
{
	int table;

	for (table = 0; table < MC_TABLES && !mc.scene->elastic; table++)
		if (word == mc_word(&mc_world.table[table].state.epoch) && v < EPF_EPOCH_FIRST)
			law_broken("freed: a table is accessed before it was made");
}

/**
 * law_write() - check the memory after a write
 * @word: number of the word
 */
void law_write(int word)
{
	int size = sizeof(struct mc_table) / sizeof(__u64);

	if (mc.scene->elastic) {
		elastic_write(word);
		return;
	}
	if (word / size >= MC_TABLES)
		return;
	note_live(word / size);
	all_kept();
	if (word == mc_word(&mc_world.table[0].state.count))
		count_holds();
}

/* ---- operations ---- */

/* Is the key present, with an age of at most that since epoch @e? */
static bool found(int verdict, int table, __u64 e)
{
	__u64 age = epoch_of(table) - e;

	return age > EPF_LIVE_EPOCHS || (verdict && verdict <= EPF_PRESENT + (int)age);
}

/* Check the result for thread @t against what it must know. */
static void verdict_holds(int t, const struct mc_op *op)
{
	__u64 start = mc_epoch_value(op->table, mc.ghost.start[t]);
	const struct mc_done *d = mc.ghost.done;
	bool gone = !mc.ghost.active[op->key];
	int i;

	for (i = 0; i < mc.ghost.nr_done; i++, d++) {
		if (d->key != op->key || d->table != op->table || !d->epoch)
			continue;
		if (d->epoch + EPF_LIVE_EPOCHS >= start)
			gone = false;
		if (scene_after(mc.scene, t, d->thread) && !found(op->verdict, op->table, d->epoch))
			law_broken(op->verdict ? "window: an inserted key is told to be older" :
						 "window: an inserted key is not found");
	}
	if (gone && op->verdict && op->key < SCENE_OLD)
		law_broken("gone: a key is found that is not in the window");
}

static void sightings_hold(const struct mc_op *op)
{
	const struct mc_done *d = mc.ghost.done;
	int newest = mc_epoch_index(op->table);
	int i, n = 0, absent = 0;
	bool rotated = false;

	for (i = 0; i < mc.ghost.nr_done; i++, d++) {
		if (d->key != op->key)
			continue;
		if (!d->sight)
			return; /* it is not new */
		n++;
		absent += !d->verdict;
		rotated |= d->start != newest;
	}
	if (n != scene_sights(mc.scene))
		return;
	if (!absent)
		law_broken("sightings: nobody was told absent");
	else if (absent > 1 && !rotated)
		law_broken("sightings: more than one was told absent");
}

/* Check the claim of thread @t that the key is in epoch op->old. */
static void epoch_holds(int t, const struct mc_op *op)
{
	__u64 least = epoch_of(op->table);

	if (mc.model != MC_SC)
		least = mc_epoch_value(op->table, mc.thread[t].know.epoch[op->table]);
	if (op->old < least)
		law_broken("window: an insert ended in a later epoch");
	if (!(mc.ghost.live[op->table][op->key] >> op->old & 1))
		law_broken("window: a key was never complete in its epoch");
}

static void add_done(int t, const struct mc_op *op)
{
	struct mc_done *d = &mc.ghost.done[mc.ghost.nr_done++];

	d->key = (__u8)op->key;
	d->table = (__u8)op->table;
	d->epoch = (__u8)op->old;
	d->thread = (__u8)t;
	d->verdict = (__u8)op->verdict;
	d->start = mc.ghost.start[t];
	d->began = mc.ghost.began[t];
	d->sight = op->value == MC_SIGHTED;
	mc.ghost.inserts[op->old] += op->old != 0;
}

static void start(int t, const struct mc_op *op)
{
	int id = mc.word_id[mc_word(&mc_world.table[op->table].state.epoch)];

	mc.ghost.active[op->key] += op->verdict >= 0;
	mc.ghost.began[t] = (__u8)op->old;
	if (mc.model == MC_SC || id < 0)
		mc.ghost.start[t] = (__u8)mc_epoch_index(op->table);
	else
		mc.ghost.start[t] = mc.thread[t].know.at[id];
	note_live(op->table); /* the key may be there already */
}

/**
 * law_note() - check what a thread reports
 * @t: thread
 * @op: MC_NOTE
 */
void law_note(int t, const struct mc_op *op)
{
	if (mc.scene->elastic) {
		elastic_note(t, op);
		return;
	}
	if (mc.scene->journal) {
		journal_note(op);
		return;
	}
	switch ((enum mc_note)op->value) {
	case MC_STARTS:
		start(t, op);
		return;
	case MC_ENDS:
		if (mc.ghost.inserts[op->old] < mc.scene->full)
			law_broken("counts: an epoch ended too early");
		return;
	case MC_TESTED:
		verdict_holds(t, op);
		mc.ghost.start[t] = 0;
		return;
	case MC_SIGHTED:
		mc.ghost.active[op->key]--;
		verdict_holds(t, op);
		break;
	case MC_INSERTED:
		mc.ghost.active[op->key]--;
		break;
	case MC_MIRRORED:
		mirror_note(op);
		return;
	case MC_ESTIMATED:
	case MC_EMPTIED:
		worker_note(op);
		return;
	case MC_DATED:
	case MC_SINCE:
		since_note(t, op);
		return;
	}
	if (op->old)
		epoch_holds(t, op);
	add_done(t, op);
	mc.ghost.start[t] = mc.ghost.began[t] = 0;
	if (mc.scene->dates)
		since_starts();
	if (op->value == MC_SIGHTED)
		sightings_hold(op);
}
