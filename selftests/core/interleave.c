// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol of epf/lanes.h under every schedule of two threads with up to
 * four switches between them, at each of which the filter may rotate. Threads
 * are coroutines, so a run is exact and repeatable. (What a weaker memory model
 * than x86-64's allows is not tried here.)
 *
 * Laws: a key whose insert is over is present with the age of that moment;
 * of two sightings of one new key at least one is told absent, and exactly one
 * when there was no rotation.
 *
 * The protocol as it is must keep the laws; with any protection taken out some
 * schedule must break them, which shows that this test can fail. The grace
 * period (O3) is kept where schedules rotate at most seven times.
 */
#include "race.h"
#include "tap.h"

#include <stdlib.h>
#include <ucontext.h>

#define THREADS 2
#define SWITCHES 3
#define STACK_BYTES 65536
#define TO_THE_END 1000

/* What a thread does, and what came of it. */
enum op { INSERT, SIGHT, SIGHT_FIRST, SCAN };

struct thread {
	ucontext_t context;
	struct race_self self;
	struct epf_probe probe;
	enum op op;
	bool over;
	int verdict;
	__u64 over_at; /* epoch */
	char stack[STACK_BYTES];
};

static struct epf_line lines[EPF_LINES_MIN];
static struct epf_state state;
static struct epf_lanes lanes;
static struct thread threads[THREADS];
static struct race_self main_self;
static struct thread *running;
static ucontext_t main_context;
static int steps_left;

static void point(void)
{
	if (running && steps_left-- == 0)
		swapcontext(&running->context, &main_context);
}

static void nothing(void)
{
}

static void thread_main(void)
{
	struct thread *t = running;
	__u64 e;

	switch (t->op) {
	case INSERT:
		race_insert(&lanes, &t->probe);
		break;
	case SIGHT:
	case SIGHT_FIRST:
		t->verdict = race_sight(&lanes, &t->probe,
					t->op == SIGHT_FIRST, &e);
		break;
	case SCAN:
		epf_scan(&lanes, 0, 1);
		break;
	}
	t->over = true;
	t->over_at = state.epoch;
}

static void thread_start(struct thread *t, enum op op)
{
	t->op = op;
	t->over = false;
	t->self.epoch_word = &state.epoch;
	t->self.inserting = false;
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK_BYTES;
	t->context.uc_link = &main_context;
	makecontext(&t->context, thread_main, 0);
}

static void thread_run(struct thread *t, int steps)
{
	if (t->over)
		return;
	running = t;
	race_self = &t->self;
	steps_left = steps;
	swapcontext(&main_context, &t->context);
	race_self = &main_self;
	running = NULL;
}

/* The scan keeps up, but never while a thread scans. */
static void rotate(int times)
{
	while (times--)
		epf_rotate(&state, 0);
}

/* A probe with its own positions, on the same lines as all others. */
static void make_probe(struct epf_probe *p, int key)
{
	__u32 j;

	p->parts = lanes.geom.parts;
	for (j = 0; j < p->parts; j++) {
		p->line[j] = &lines[j * lanes.geom.part_lines];
		p->mask[j] = 7ULL << (3 * key + j);
	}
}

/* What the lanes hold at the start, epoch 16. */
enum before { EMPTY, STALE, CURRENT };

static void set_up(__u32 parts, enum before before)
{
	struct epf_probe old;

	memset(lines, 0, sizeof(lines));
	epf_state_init(&state, 0);
	epf_geom_init(&lanes.geom, EPF_LINES_MIN, parts, 3 * parts);
	lanes.line = lines;
	lanes.epoch = &state.epoch;
	main_self.epoch_word = &state.epoch;
	race_self = &main_self;
	make_probe(&old, 5);
	if (before == STALE)
		race_insert(&lanes, &old);
	rotate(8);
	if (before == CURRENT)
		race_insert(&lanes, &old);
}

/* Is the key of @t as present as it has to be? */
static bool kept(const struct thread *t)
{
	__u64 age = state.epoch - t->over_at;
	int verdict;

	if (t->op == SCAN || age > EPF_LIVE_EPOCHS)
		return true;
	if (t->op == SIGHT_FIRST && t->verdict)
		return true;
	verdict = epf_test(&lanes, &t->probe);
	return verdict && verdict <= EPF_PRESENT + (int)age;
}

/* A case: who does what, on which keys. */
struct scene {
	__u32 parts;
	enum before before;
	enum op op[THREADS];
	bool same_key;
};

/* A schedule: steps of thread 0, 1, 0, each followed by rotations; then both
 * to the end.
 */
struct schedule {
	int steps[SWITCHES];
	int turns[SWITCHES];
};

static bool lawful(const struct scene *c, const struct schedule *s)
{
	bool turned = s->turns[0] || s->turns[1] || s->turns[2];
	bool both_sight = c->op[0] >= SIGHT && c->op[0] <= SIGHT_FIRST &&
			  c->op[1] == c->op[0];
	int i, absent = 0;

	set_up(c->parts, c->before);
	for (i = 0; i < THREADS; i++) {
		make_probe(&threads[i].probe, c->same_key ? 0 : i);
		thread_start(&threads[i], c->op[i]);
	}
	for (i = 0; i < SWITCHES; i++) {
		thread_run(&threads[i % THREADS], s->steps[i]);
		rotate(s->turns[i]);
	}
	thread_run(&threads[1], TO_THE_END);
	thread_run(&threads[0], TO_THE_END);
	for (i = 0; i < THREADS; i++) {
		if (!threads[i].over || !kept(&threads[i]))
			return false;
		absent += !threads[i].verdict;
	}
	if (!both_sight || !c->same_key)
		return true;
	return turned ? absent >= 1 : absent == 1;
}

/* Rotations at the switches; the scan excludes them. */
static bool next_turns(struct schedule *s, const int *choice, int choices)
{
	int i, at;

	for (i = 0; i < SWITCHES; i++) {
		for (at = 0; choice[at] != s->turns[i]; at++)
			;
		if (++at < choices) {
			s->turns[i] = choice[at];
			return true;
		}
		s->turns[i] = choice[0];
	}
	return false;
}

static long runs;

/* All schedules of one scene. Return: one broke a law. */
static bool scene_breaks(const struct scene *c, const int *choice, int choices)
{
	int most = 3 + 4 * (int)c->parts; /* more points than an insert has */
	struct schedule s;
	bool scan = c->op[0] == SCAN || c->op[1] == SCAN;

	memset(&s, 0, sizeof(s));
	do {
		int total = s.turns[0] + s.turns[1] + s.turns[2];

		if (choices > 1 && choice[choices - 1] < 8 &&
		    total > (int)EPF_LIVE_EPOCHS)
			continue; /* the grace period */
		for (s.steps[0] = 0; s.steps[0] < most; s.steps[0]++)
			for (s.steps[1] = 0; s.steps[1] < most; s.steps[1]++)
				for (s.steps[2] = 0; s.steps[2] < most;
				     s.steps[2]++) {
					runs++;
					if (!lawful(c, &s))
						return true;
				}
	} while (!scan && next_turns(&s, choice, choices));
	return false;
}

/* All scenes. Return: a law was broken in one. */
static bool any_breaks(unsigned int out, const int *choice, int choices)
{
	static const enum op ops[][2] = {
		{ INSERT, INSERT }, { SIGHT, INSERT }, { SIGHT, SIGHT },
		{ SIGHT_FIRST, SIGHT_FIRST }, { SCAN, INSERT },
	};
	struct scene c;
	int before, i, same;

	race_out = out;
	for (c.parts = 1; c.parts <= 2; c.parts *= 2)
		for (before = EMPTY; before <= CURRENT; before++)
			for (i = 0; i < 5; i++)
				for (same = 0; same < 2; same++) {
					c.before = (enum before)before;
					c.op[0] = ops[i][0];
					c.op[1] = ops[i][1];
					c.same_key = same;
					if (scene_breaks(&c, choice, choices))
						return true;
				}
	return false;
}

/* One thread stalls while its lane comes round to the word it saw: 32 epochs,
 * with a key of the same positions.
 */
static bool breaks_without_grace(void)
{
	struct thread *t = &threads[0];
	struct epf_probe old, newer;
	int i;

	for (i = 0; i < 8; i++) {
		race_out = 0;
		set_up(1, STALE);
		make_probe(&t->probe, 0);
		thread_start(t, INSERT);
		thread_run(t, i);
		make_probe(&old, 5);
		make_probe(&newer, 5);
		rotate(24); /* epoch 40, whose lane and tag are those of 8 */
		memset(lines, 0, sizeof(lines)); /* the scan */
		race_insert(&lanes, &newer);
		thread_run(t, TO_THE_END);
		if (!epf_test(&lanes, &newer))
			return true;
	}
	return false;
}

int main(void)
{
	static const int graced[] = { 0, 1, 7 };
	static const int stalled[] = { 0, 1, 8 };

	race_point = point;
	race_reread = nothing;
	tap_plan(9);
	tap_ok(!any_breaks(0, graced, 3), "the protocol keeps the laws");
	tap_ok(!any_breaks(0, stalled, 3), "also when a thread stalls for 8 to 24 epochs");
	printf("# %ld schedules\n", runs);
	tap_ok(any_breaks(RACE_NO_CAS, graced, 3), "caught: a store instead of compare-and-swap");
	tap_ok(any_breaks(RACE_NO_ATOMIC_OR, graced, 3), "caught: an OR that is not atomic");
	tap_ok(any_breaks(RACE_NO_REREAD, graced, 3), "caught: no look at the epoch after the OR (O2)");
	tap_ok(any_breaks(RACE_NO_RECHECK, stalled, 3), "caught: no look at the epoch before replacing a lane (O1)");
	tap_ok(breaks_without_grace(), "caught: no grace period, a lane comes round after 32 epochs (O3)");
	tap_ok(any_breaks(RACE_OR_SEES_SELF, graced, 3), "caught: nobody is told absent");
	tap_ok(any_breaks(RACE_OR_SEES_NONE, graced, 3), "caught: both are told absent");
	return tap_end();
}
