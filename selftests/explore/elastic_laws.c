// SPDX-License-Identifier: GPL-2.0
/*
 * The properties of every execution on a line of kind elastic.
 *
 *   window   A key that was in the line at the beginning has the epoch given there. An
 *            inserted key has an epoch that is not older than the newest at the end of
 *            the insert (in MC_WEAK: at the moment its last read-modify-write took
 *            effect). Until that epoch leaves the window, the line has the key whenever
 *            it is unlocked, and a test finds it, with an age that is not too old. The
 *            test is by any thread if the key was there from the beginning, else by one
 *            that awaited the end of the inserter.
 *   torn     A test that was not disturbed (E4) does not find a key that is not in the
 *            window, or that never was. No test or insert accesses a word outside the
 *            line.
 *   sightings  Of all who test and insert a key that is in no epoch of the window exactly one
 *            is told so.
 *   lock     Some thread can always go on. (The search checks that.)
 */
#include "elastic.h"
#include "laws.h"

#define SIGHT_KEPT 2 /* in mc_done.sight: it found the key, and did not insert it */

static struct mc_elastic copy; /* of the line; accesses to it are no steps */

static __u64 phase_now(void)
{
	return mc_newest(mc_epoch_word(0));
}

/* Is epoch @e, or a later one, in the window at @phase? */
static bool is_live(__u64 e, __u64 phase)
{
	return e >= phase >> 1 ||
	       (phase >> 1) - e < epf_elastic_counted(&mc.first.elastic.f, phase);
}

static __u64 epoch_of(const struct mc_done *d)
{
	return mc_epoch_value(0, d->epoch) >> 1;
}

/* Find the youngest epoch in which @key must be, for thread @t or, with -1, for all
 * threads. Return: false if there is none.
 */
static bool is_in(int key, int t, __u64 *epoch)
{
	const struct mc_done *d = mc.ghost.done;
	bool in = elastic_begin(key, epoch);
	int i;

	for (i = 0; i < mc.ghost.nr_done; i++, d++) {
		if (d->key != key || d->sight == SIGHT_KEPT ||
		    (t >= 0 && !scene_after(mc.scene, t, d->thread)))
			continue;
		if (!in || epoch_of(d) > *epoch)
			*epoch = epoch_of(d);
		in = true;
	}
	return in;
}

/* Is the key present, with an age of at most that since epoch @e? */
static bool found(int verdict, __u64 e)
{
	__u64 phase = phase_now();

	return !is_live(e, phase) || (verdict && verdict <= EPF_PRESENT + (int)((phase >> 1) - e));
}

/* ---- memory ---- */

/* Test a copy of the line, which is unlocked, as a single thread would. */
static void line_holds(void)
{
	__u64 e;
	int key;
	__u32 k;

	copy.f = mc.first.elastic.f;
	copy.f.word = copy.line;
	copy.f.phase = phase_now();
	for (k = 0; k < copy.f.shape.line_words; k++)
		copy.line[k] = mc_newest(&mc_world.elastic.line[k]);
	for (key = 0; key < MC_KEYS; key++)
		if (is_in(key, -1, &e) && !found(epf_elastic_test(&copy.f, elastic_digest(key)), e))
			law_broken("window: an inserted key is gone from its line");
}

/**
 * elastic_access() - check the access to a word
 * @word: its number
 */
void elastic_access(int word)
{
	int at = word - mc_word(mc_world.elastic.line);

	if (word != mc_word(mc_epoch_word(0)) &&
	    (at < 0 || at >= (int)mc.first.elastic.f.shape.line_words))
		law_broken("torn: a word outside the line is accessed");
}

/**
 * elastic_write() - check the line after a write
 * @word: number of the word
 */
void elastic_write(int word)
{
	const __u64 *head = &mc_world.elastic.line[mc.first.elastic.f.shape.line_words >> 3];

	if (word == mc_word(head) && !(mc_newest(head) >> EPF_ELASTIC_LOCK & 1))
		line_holds();
}

/* ---- operations ---- */

/* May the key have been in the window since thread @t began? */
static bool may_be_in(int t, int key)
{
	__u64 start = mc_epoch_value(0, mc.ghost.start[t]), e;

	return mc.ghost.active[key] || (is_in(key, -1, &e) && is_live(e, start));
}

static void verdict_holds(int t, const struct mc_op *op)
{
	__u64 e;

	if (is_in(op->key, t, &e) && !found(op->verdict, e))
		law_broken(op->verdict ? "window: an inserted key is told to be older" :
					 "window: an inserted key is not found");
	if (op->verdict && op->old && !may_be_in(t, op->key))
		law_broken("torn: a key is found that is not in the window");
}

static void add_done(int t, const struct mc_op *op)
{
	struct mc_done *d = &mc.ghost.done[mc.ghost.nr_done++];

	d->key = (__u8)op->key;
	d->thread = (__u8)t;
	d->sight = op->value != MC_SIGHTED ? 0 : op->old ? 1 : SIGHT_KEPT;
	d->verdict = (__u8)op->verdict;
	d->epoch = (__u8)mc_epoch_index(0);
	if (mc.model != MC_SC)
		d->epoch = mc.thread[t].know.epoch[0];
}

/* No scene rotates until a key that was sighted expires. */
static void sightings_hold(int key)
{
	const struct mc_done *d = mc.ghost.done;
	int i, n = 0, absent = 0;

	for (i = 0; i < mc.ghost.nr_done; i++, d++) {
		n += d->key == key && d->sight;
		absent += d->key == key && d->sight && !d->verdict;
	}
	if (n == scene_sights(mc.scene) && absent != 1)
		law_broken(absent ? "sightings: more than one was told absent" :
				    "sightings: nobody was told absent");
}

static void start(int t, const struct mc_op *op)
{
	int id = mc.word_id[mc_word(mc_epoch_word(0))];

	mc.ghost.active[op->key] += op->verdict >= 0;
	mc.ghost.start[t] = mc.model == MC_SC || id < 0 ? (__u8)mc_epoch_index(0) :
							  mc.thread[t].know.at[id];
}

/**
 * elastic_note() - check what a thread reports
 * @t: thread
 * @op: MC_NOTE; for MC_TESTED @op->old says that the test was not disturbed, for MC_SIGHTED
 *	that the key was inserted
 */
void elastic_note(int t, const struct mc_op *op)
{
	if (op->value == MC_STARTS) {
		start(t, op);
		return;
	}
	if (op->value == MC_TESTED) {
		verdict_holds(t, op);
	} else {
		mc.ghost.active[op->key]--;
		add_done(t, op);
	}
	if (op->value == MC_SIGHTED)
		sightings_hold(op->key);
	mc.ghost.start[t] = 0;
}
