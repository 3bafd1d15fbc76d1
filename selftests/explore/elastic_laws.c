// SPDX-License-Identifier: GPL-2.0
/*
 * What every execution on a line of kind elastic has to keep.
 *
 *   window   A key that was in the line at the beginning is of its epoch. An
 *            inserted one is of an epoch not older than the newest at the
 *            insert's end (in MC_WEAK: at the moment its last read-modify-write
 *            took effect). Until that epoch leaves the window, the line as it is
 *            whenever it is unlocked has the key, and a test finds it, not older
 *            than it is: of who has it from the beginning, or awaited the
 *            inserter's end.
 *   torn     A test that was not disturbed (E4) finds no key that is not in the
 *            window, nor one that never was. No test or insert accesses a word
 *            outside the line.
 *   lock     Somebody can go on. (The search sees to it.)
 */
#include "elastic.h"
#include "laws.h"

static struct mc_elastic copy; /* of the line, not a step */

static __u64 phase_now(void)
{
	return mc_newest(mc_epoch_word(0));
}

/* Is epoch @e in the window at @phase? A later one is. */
static bool is_live(__u64 e, __u64 phase)
{
	return e >= phase >> 1 ||
	       (phase >> 1) - e < epf_elastic_counted(&mc.first.elastic.f, phase);
}

static __u64 epoch_of(const struct mc_done *d)
{
	return mc_epoch_value(0, d->epoch) >> 1;
}

/* The youngest epoch in which @key is bound to be: for thread @t, or for all of
 * them. Return: in any?
 */
static bool is_in(int key, int t, __u64 *epoch)
{
	const struct mc_done *d = mc.ghost.done;
	bool in = elastic_begin(key, epoch);
	int i;

	for (i = 0; i < mc.ghost.nr_done; i++, d++) {
		if (d->key != key ||
		    (t >= 0 && !scene_after(mc.scene, t, d->thread)))
			continue;
		if (!in || epoch_of(d) > *epoch)
			*epoch = epoch_of(d);
		in = true;
	}
	return in;
}

/* Present with an age not above that since epoch @e? */
static bool found(int verdict, __u64 e)
{
	__u64 phase = phase_now();

	return !is_live(e, phase) ||
	       (verdict && verdict <= EPF_PRESENT + (int)((phase >> 1) - e));
}

/* ---- memory ---- */

/* The line, which is unlocked, asked as if by one thread. */
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
		if (is_in(key, -1, &e) &&
		    !found(epf_elastic_test(&copy.f, elastic_digest(key)), e))
			law_broken("window: an inserted key is gone from its line");
}

/**
 * elastic_access() - somebody accesses a word
 * @word: which
 */
void elastic_access(int word)
{
	int at = word - mc_word(mc_world.elastic.line);

	if (word != mc_word(mc_epoch_word(0)) &&
	    (at < 0 || at >= (int)mc.first.elastic.f.shape.line_words))
		law_broken("torn: a word outside the line is accessed");
}

/**
 * elastic_write() - somebody has written a word
 * @word: which
 */
void elastic_write(int word)
{
	const __u64 *head = &mc_world.elastic
				     .line[mc.first.elastic.f.shape.line_words >> 3];

	if (word == mc_word(head) && !(mc_newest(head) >> EPF_ELASTIC_LOCK & 1))
		line_holds();
}

/* ---- operations ---- */

/* May the key have been in the window since thread @t began? */
static bool may_be_in(int t, int key)
{
	__u64 start = mc_epoch_value(0, mc.ghost.start[t]), e;

	return mc.ghost.active[key] ||
	       (is_in(key, -1, &e) && is_live(e, start));
}

static void verdict_holds(int t, const struct mc_op *op)
{
	__u64 e;

	if (is_in(op->key, t, &e) && !found(op->verdict, e))
		law_broken(op->verdict ?
			   "window: an inserted key is told to be older" :
			   "window: an inserted key is not found");
	if (op->verdict && op->old && !may_be_in(t, op->key))
		law_broken("torn: a key is found that is not in the window");
}

static void add_done(int t, const struct mc_op *op)
{
	struct mc_done *d = &mc.ghost.done[mc.ghost.nr_done++];

	d->key = (__u8)op->key;
	d->thread = (__u8)t;
	d->epoch = (__u8)mc_epoch_index(0);
	if (mc.model != MC_SC)
		d->epoch = mc.thread[t].know.epoch[0];
}

static void start(int t, const struct mc_op *op)
{
	int id = mc.word_id[mc_word(mc_epoch_word(0))];

	mc.ghost.active[op->key] += op->verdict >= 0;
	mc.ghost.start[t] = mc.model == MC_SC || id < 0 ?
				    (__u8)mc_epoch_index(0) :
				    mc.thread[t].know.at[id];
}

/**
 * elastic_note() - what a thread tells
 * @t: thread
 * @op: MC_NOTE; of MC_TESTED @op->old: the test was not disturbed
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
	mc.ghost.start[t] = 0;
}
