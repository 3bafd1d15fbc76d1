// SPDX-License-Identifier: GPL-2.0
/*
 * The search. See search.h.
 */
#include "search.h"
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS_MAX (MC_THREADS * MC_LOG)
#define NOBODY (-1)

/* Map from a fingerprint to the number of executions from there on; 0: free. */
static struct seen {
	__u64 print;
	double executions;
} * table;
static __u64 room, used; /* room is a power of 2 */

static struct search_step trace[STEPS_MAX];
static int depth, broken_at;

static struct seen *slot_of(__u64 print)
{
	__u64 i = print & (room - 1);

	while (table[i].print && table[i].print != print)
		i = (i + 1) & (room - 1);
	return &table[i];
}

static void allocate(__u64 size)
{
	room = size;
	table = (struct seen *)calloc(room, sizeof(*table));
	if (!table) {
		fprintf(stderr, "explore: out of memory\n");
		exit(2);
	}
}

static void grow(void)
{
	struct seen *old = table;
	__u64 i, n = room;

	allocate(2 * room);
	for (i = 0; i < n; i++)
		if (old[i].print)
			*slot_of(old[i].print) = old[i];
	free(old);
}

static void keep(__u64 print, double executions)
{
	struct seen *s;

	if (4 * ++used > 3 * room)
		grow();
	s = slot_of(print);
	s->print = print;
	s->executions = executions;
}

static bool stop(void)
{
	return mc.broke || mc.reshape;
}

static double follow(int forced, int last, int left);

static int newest_index(const struct mc_op *op)
{
	return op->kind <= MC_CAS ? mc.nr_values[mc.word_id[op->word]] - 1 : -1;
}

/* Take one step of thread @t with one choice, and follow all executions from there. */
static double take(int t, __u8 choice, int left)
{
	struct search_step *s = &trace[depth];
	struct mc_saved saved;
	double n = 0;
	bool goes_on;

	mc_save(t, &saved);
	s->thread = t;
	s->op = mc.thread[t].op;
	s->newest = newest_index(&s->op);
	s->index = choice == MC_SUCCESS ? s->newest : choice;
	s->answer = mc_step(t, choice);
	s->epoch = mc_epoch_value(0, mc_epoch_index(0));
	depth++;
	goes_on = mc_goes_on(t, s->op.kind);
	if (mc.broke)
		broken_at = depth;
	if (!stop())
		n = follow(goes_on ? t : NOBODY, t, left);
	depth--;
	mc_undo(t, &saved);
	return n;
}

static double take_all(int t, int left)
{
	__u8 choice[MC_VALUES + 1];
	int i, nr = mc_choices(t, choice);
	double n = 0;

	for (i = 0; i < nr && !stop(); i++)
		n += take(t, choice[i], left);
	return n;
}

/* Follow all executions whose next step is of any thread. */
static double take_any(int last, int left)
{
	bool goes = last != NOBODY && mc_enabled(last);
	bool all_over = true, any = false;
	double n = 0;
	int t;

	for (t = 0; t < MC_THREADS && !stop(); t++) {
		bool preempts = goes && t != last;

		all_over &= mc.thread[t].over;
		if (!mc_enabled(t))
			continue;
		any = true;
		if (left != SEARCH_ALL && preempts && !left)
			continue;
		n += take_all(t, left == SEARCH_ALL ? left : left - preempts);
	}
	if (all_over)
		return 1;
	if (!any && !stop()) {
		mc.broke = "nobody can go on";
		broken_at = depth;
	}
	return n;
}

/* Follow all executions from here on. @forced: a thread that has to go on; if it has to
 * wait, an execution in which it paused earlier is followed as well.
 */
static double follow(int forced, int last, int left)
{
	__u64 print = mc_mix(mc_fingerprint() + (__u64)(forced + 1));
	const struct seen *s;
	double n;

	if (left != SEARCH_ALL)
		print = mc_mix(print + (__u64)(left * MC_THREADS + last));
	print += !print;
	s = slot_of(print);
	if (s->print)
		return s->executions;
	if (forced == NOBODY)
		n = take_any(last, left);
	else
		n = mc_enabled(forced) ? take_all(forced, left) : 0;
	if (!stop())
		keep(print, n);
	return n;
}

/**
 * search() - look for an execution that violates a property
 * @scene: case
 * @model: memory model
 * @out: MC_NO_* and so on: protections that are disabled
 * @preemptions: maximum number of times that a thread that could go on has to pause;
 *	SEARCH_ALL: any number
 *
 * Return: the result; its steps are valid until the next search.
 */
struct search_result search(const struct mc_scene *scene, enum mc_model model, __u64 out,
			    int preemptions)
{
	struct search_result r = { .step = trace };

	mc_tag_shift = EPF_LANE_BITS + !!(out & MC_TAG_1);
	mc.model = model;
	mc.out = out;
	scene_set_up(scene);
	do { /* until it is known which words are shared */
		free(table);
		used = 0;
		allocate(1 << 16);
		depth = broken_at = 0;
		mc_begin();
		if (!mc.reshape)
			r.executions = follow(NOBODY, NOBODY, preemptions);
	} while (mc.reshape);
	r.states = used;
	r.broke = mc.broke;
	r.steps = broken_at;
	return r;
}
