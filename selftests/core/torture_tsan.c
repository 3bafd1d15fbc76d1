// SPDX-License-Identifier: GPL-2.0
/*
 * The stress test of kmod/selftest/torture.c, without a kernel and under thread
 * sanitizer: everything that may happen to a filter concurrently, with an exact oracle.
 *
 * Workers insert, test, and test-and-insert keys in two slots. The mover, which inserts
 * too, meanwhile forces rotations, clears, exchanges the tables of the slots, replaces
 * a table by a new one and frees the old, scans, and takes snapshots. Grace periods are
 * like those of RCU: a cookie records which threads were inside a section, and expires
 * when each of them has left it.
 *
 * Properties, for each key and the epoch e that its insert returned:
 *   - while the current epoch is at most e + 7, the key is present, with age at most
 *     current - e; in a copy of the lines too;
 *   - it is present while at most W insertions came after it and no rotation was
 *     forced;
 *   - after e + 7 it is absent, except for false positives (ghosts);
 *   - if two threads test-and-insert a key in one epoch, exactly one gets "absent".
 * A thread that inserts in an epoch sees, without a lock, what the rotating thread
 * wrote before that epoch began: table.log, which the sanitizer watches.
 *
 * Each case runs in a child, because the sanitizer ends the process. The unchanged
 * protocol must pass; with a protection disabled either the sanitizer or the oracle
 * must report it. The amount of work is fixed.
 */
#include "race.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#define WORKERS 3
#define MOVER WORKERS
#define THREADS (WORKERS + 1)
#define SLOTS 2
#define STEPS 10000 /* steps of each worker */
#define ROUNDS 64   /* rounds of a mutant, until it is caught */
#define RECENT 256u /* own keys that a thread remembers */
#define LINES_MAX 1024u
#define LOG 8192u /* epochs of a table that are logged */
#define SIGHTS (WORKERS * STEPS / 4 + 2)
#define GHOSTS 10 /* upper bound; none is expected at this fill */
#define STATUS_LOST 1
#define STATUS_RACE 66 /* TSAN_OPTIONS=exitcode */

/* The sections of each thread when the cookie was taken; an odd number: inside one. */
struct cookie {
	__u64 at[THREADS];
};

/**
 * struct table - what a slot contains
 * @lanes: shape and lines
 * @state: epoch and count
 * @window: W
 * @serial: unique among tables
 * @lock: rotation and scan
 * @left: cookies of the grace periods since epoch e ended, by e modulo 8; under @lock
 * @begun: insertions begun
 * @over: insertions ended
 * @forced: beginnings and ends of forced rotations; odd: one is under way
 * @log: value of @begun when each epoch began; written before the epoch
 */
struct table {
	struct epf_lanes lanes;
	struct epf_state state;
	struct epf_window window;
	__u64 serial;
	pthread_mutex_t lock;
	struct cookie left[EPF_LANES];
	__u64 begun, over, forced;
	__u64 log[LOG];
};

struct key {
	__u64 digest;
	__u64 serial;              /* serial of its table; 0: none */
	__u64 epoch;               /* epoch of that table when the insert ended */
	__u64 over_before, forced; /* values when its insert began */
};

struct thread {
	pthread_t id;
	struct race_self self;
	__u64 section;
	__u64 keys;
	struct key recent[RECENT];
	__u64 tests, lost, ghosts, copied;
} __attribute__((aligned(128)));

/* A key that two threads test and insert: each stores its verdict, and the second
 * judges both.
 */
struct sight {
	__u64 done;
	__u64 serial[2];
	__u64 epoch[2]; /* 0: the epoch ended meanwhile */
	int verdict[2];
	bool before[2]; /* present before: one of the two verdicts is a false positive */
};

/* Enough lines and bits that few pairs are excluded because of an earlier false
 * positive; few enough lines that threads meet.
 */
struct shape {
	__u32 parts, bits;
	__u64 window;
	__u32 lines;
};

static struct table *current[SLOTS];
static struct thread threads[THREADS];
static struct sight *sights;
static __u64 tickets, last_serial, working;
static struct shape shape;
static bool grace; /* keep O3, and wait before a table is freed */
static __u64 rotations, swaps, snapshots, replaced, pairs; /* numbers for the report */
static __thread struct thread *me;

static __u64 count_read(const __u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static __u64 count_add(__u64 *p, __u64 n)
{
	return __atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
}

static void no_point(void)
{
}

static void section(void)
{
	count_add(&me->section, 1);
}

static void cookie_take(struct cookie *c)
{
	int i;

	for (i = 0; i < THREADS; i++)
		c->at[i] = count_read(&threads[i].section);
}

static bool cookie_over(const struct cookie *c)
{
	int i;

	for (i = 0; i < THREADS && grace; i++)
		if (c->at[i] & 1 && c->at[i] == count_read(&threads[i].section))
			return false;
	return true;
}

static void synchronize(void)
{
	struct cookie c;

	cookie_take(&c);
	while (!cookie_over(&c))
		sched_yield();
}

/* Call with the lock held. Return: the epoch that ended. */
static bool rotate_locked(struct table *t)
{
	__u64 e = t->state.epoch;

	if (!epf_scan_keeps_up(&t->state) || !cookie_over(&t->left[(e + 1) & 7]))
		return false;
	if (e + 1 < LOG)
		t->log[e + 1] = count_read(&t->begun);
	epf_state_rotate(&t->state, 0);
	cookie_take(&t->left[e & 7]);
	count_add(&rotations, 1);
	return true;
}

static void rotate_if_due(struct table *t, __u64 inserts)
{
	if (!epf_window_due(&t->window, inserts, 0) || pthread_mutex_trylock(&t->lock))
		return;
	/* another thread may have ended that epoch meanwhile */
	if (epf_window_due(&t->window, epf_count_of(count_read(&t->state.count), t->state.epoch),
			   0))
		rotate_locked(t);
	pthread_mutex_unlock(&t->lock);
}

static struct table *table_new(void)
{
	struct table *t = (struct table *)calloc(1, sizeof(*t));

	if (!t)
		abort();
	t->lanes.line = (struct epf_line *)aligned_alloc(EPF_LINE_BYTES,
							 shape.lines * sizeof(*t->lanes.line));
	if (!t->lanes.line)
		abort();
	memset(t->lanes.line, 0, shape.lines * sizeof(*t->lanes.line));
	t->lanes.epoch = &t->state.epoch;
	epf_state_init(&t->state, 0);
	epf_geom_init(&t->lanes.geom, shape.lines, shape.parts, shape.bits);
	epf_window_init(&t->window, EPF_MODE_COUNT, 0, shape.window, 0);
	pthread_mutex_init(&t->lock, NULL);
	t->serial = ++last_serial;
	return t;
}

static void table_free(struct table *t)
{
	pthread_mutex_destroy(&t->lock);
	free(t->lanes.line);
	free(t);
}

/* Call inside a section. */
static struct table *slot(__u64 i)
{
	return __atomic_load_n(&current[i % SLOTS], __ATOMIC_ACQUIRE);
}

static struct table *by_serial(__u64 serial)
{
	struct table *t;
	int i;

	for (i = 0; i < SLOTS; i++) {
		t = slot(i);
		if (t->serial == serial)
			return t;
	}
	return NULL;
}

static void enter(struct table *t)
{
	me->self.epoch_word = &t->state.epoch;
}

static void insert_one(void)
{
	struct key *k = &me->recent[me->keys % RECENT];
	struct epf_probe p;
	struct table *t;
	__u64 inserts;

	k->digest = epf_word((__u64)(me - threads) << 60 | ++me->keys, 2);
	section();
	t = slot(race_dice(SLOTS));
	enter(t);
	epf_probe(&t->lanes, k->digest, &p);
	k->serial = t->serial;
	k->forced = count_read(&t->forced);
	k->over_before = count_read(&t->over);
	count_add(&t->begun, 1);
	if (me->keys & 1)
		race_sight(&t->lanes, &p, false, &k->epoch);
	else
		k->epoch = race_insert(&t->lanes, &p);
	if (k->epoch < LOG)
		me->lost += t->log[k->epoch] > count_read(&t->begun);
	inserts = epf_count_add(&t->state, k->epoch, 1);
	count_add(&t->over, 1);
	rotate_if_due(t, inserts);
	section();
}

/* Judge the verdict on @k, which was given between epochs @first and @last. */
static void judge(struct table *t, const struct key *k, int verdict, __u64 first, __u64 last)
{
	__u64 age = verdict - EPF_PRESENT;
	bool inside = count_read(&t->begun) - k->over_before <= shape.window &&
		      count_read(&t->forced) == k->forced && !(k->forced & 1);

	me->tests++;
	if (last - k->epoch <= EPF_LIVE_EPOCHS)
		me->lost += verdict == EPF_ABSENT || age > last - k->epoch;
	else if (inside)
		me->lost += verdict == EPF_ABSENT;
	if (verdict && age < first - k->epoch)
		me->ghosts++;
}

static void test_one(void)
{
	__u64 nr = me->keys < RECENT ? me->keys : RECENT;
	const struct key *k = &me->recent[(me->keys - 1 - race_dice(nr)) % RECENT];
	struct epf_probe p;
	struct table *t;
	__u64 first;
	int verdict;

	section();
	t = by_serial(k->serial);
	if (t) {
		enter(t);
		epf_probe(&t->lanes, k->digest, &p);
		first = count_read(&t->state.epoch);
		verdict = epf_lanes_test(&t->lanes, &p);
		judge(t, k, verdict, first, count_read(&t->state.epoch));
	}
	section();
}

static void judge_pair(const struct sight *s)
{
	bool same = s->epoch[0] && s->epoch[0] == s->epoch[1];

	if (s->serial[0] != s->serial[1] || (s->before[0] && s->before[1]))
		return;
	count_add(&pairs, 1);
	me->lost += s->verdict[0] && s->verdict[1];
	me->lost += same && !s->verdict[0] && !s->verdict[1];
}

static void sight_one(void)
{
	__u64 ticket = count_add(&tickets, 1);
	struct sight *s = &sights[ticket / 2];
	struct epf_probe p;
	struct table *t;
	__u64 first, e;

	section();
	t = slot(ticket / 2);
	enter(t);
	epf_probe(&t->lanes, epf_word(ticket / 2, 3), &p);
	s->serial[ticket & 1] = t->serial;
	count_add(&t->begun, 1);
	first = count_read(&t->state.epoch);
	s->before[ticket & 1] = epf_lanes_test(&t->lanes, &p) != EPF_ABSENT;
	s->verdict[ticket & 1] = race_sight(&t->lanes, &p, false, &e);
	s->epoch[ticket & 1] = first == e ? e : 0;
	rotate_if_due(t, epf_count_add(&t->state, e, 1));
	count_add(&t->over, 1);
	section();
	if (count_add(&s->done, 1))
		judge_pair(s);
}

/* Wait until every epoch that is due has ended, as batches do: an overlong epoch fills
 * its lanes, and its false positives would be taken for violations.
 */
static void settle(__u64 i)
{
	struct table *t;
	__u64 inserts;
	bool due;

	do {
		section();
		t = slot(i);
		inserts = epf_count_of(count_read(&t->state.count), count_read(&t->state.epoch));
		due = epf_window_due(&t->window, inserts, 0);
		rotate_if_due(t, inserts);
		section();
		if (due)
			sched_yield();
	} while (due);
}

static void *worker(void *arg)
{
	int i;

	me = (struct thread *)arg;
	race_self = &me->self;
	for (i = 0; i < STEPS; i++) {
		insert_one();
		test_one();
		test_one();
		if (i % 4 == 0)
			sight_one();
		settle(0);
		settle(1);
	}
	count_add(&working, -1ULL);
	return NULL;
}

/* Only the mover changes slots, so it needs no section to read them. */
static void scan(struct table *t)
{
	__u64 first, end;

	pthread_mutex_lock(&t->lock);
	while (t->state.scanned < t->state.epoch) {
		epf_scan_chunk(&t->state, shape.lines, &first, &end);
		epf_lanes_scan(&t->lanes, first, end - first);
		t->state.scanned++;
	}
	pthread_mutex_unlock(&t->lock);
}

static void force(struct table *t, __u64 count)
{
	count_add(&t->forced, 1);
	while (count) {
		scan(t);
		pthread_mutex_lock(&t->lock);
		count -= rotate_locked(t);
		pthread_mutex_unlock(&t->lock);
		if (count)
			sched_yield();
	}
	count_add(&t->forced, 1);
}

static void swap(void)
{
	struct table *t = current[0];

	__atomic_store_n(&current[0], current[1], __ATOMIC_RELEASE);
	__atomic_store_n(&current[1], t, __ATOMIC_RELEASE);
	swaps++;
}

static void replace(void)
{
	struct table **at = &current[race_dice(SLOTS)], *old = *at;

	__atomic_store_n(at, table_new(), __ATOMIC_RELEASE);
	synchronize();
	table_free(old);
	replaced++;
}

static void check_copy(const struct table *t, struct epf_lanes *copy)
{
	struct epf_probe p;
	__u32 i;

	for (i = 0; i < RECENT; i++) {
		const struct key *k = &me->recent[i];

		if (k->serial != t->serial || *copy->epoch - k->epoch > EPF_LIVE_EPOCHS)
			continue;
		epf_probe(copy, k->digest, &p);
		me->lost += epf_lanes_test(copy, &p) == EPF_ABSENT;
		me->copied++;
	}
}

/* Holding the lock stands for a pin here: a rotation has to wait. */
static void snapshot(struct table *t)
{
	static struct epf_line lines[LINES_MAX];
	struct epf_lanes copy = t->lanes;
	__u64 epoch;
	__u32 i;

	pthread_mutex_lock(&t->lock);
	for (i = 0; i < shape.lines * EPF_LANES; i++)
		lines[i / EPF_LANES].lane[i % EPF_LANES] =
			epf_load(&t->lanes.line[i / EPF_LANES].lane[i % EPF_LANES]);
	epoch = t->state.epoch;
	pthread_mutex_unlock(&t->lock);
	copy.line = lines;
	copy.epoch = &epoch;
	enter(t);
	me->self.epoch_word = &epoch;
	check_copy(t, &copy);
	snapshots++;
}

static void move(__u64 i)
{
	struct table *t = current[race_dice(SLOTS)];

	insert_one();
	test_one();
	scan(current[0]);
	scan(current[1]);
	if (i % 8 == 1)
		snapshot(t);
	else if (i % 16 == 2)
		force(t, 1 + race_dice(EPF_LANES));
	else if (i % 16 == 3)
		swap();
	else if (i % 64 == 4)
		replace();
}

static void *mover(void *arg)
{
	__u64 i;

	me = (struct thread *)arg;
	race_self = &me->self;
	for (i = 0; count_read(&working); i++)
		move(i);
	return NULL;
}

struct outcome {
	__u64 keys, tests, lost, ghosts, copied;
};

static void play(struct outcome *o)
{
	int i;

	memset(threads, 0, sizeof(threads));
	memset(sights, 0, SIGHTS * sizeof(*sights));
	tickets = 0;
	working = WORKERS;
	for (i = 0; i < SLOTS; i++)
		current[i] = table_new();
	for (i = 0; i < THREADS; i++) {
		threads[i].self.rng = (last_serial << 8 | (__u64)i) << 32;
		if (pthread_create(&threads[i].id, NULL, i == MOVER ? mover : worker, &threads[i]))
			abort();
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		o->keys += threads[i].keys;
		o->tests += threads[i].tests;
		o->lost += threads[i].lost;
		o->ghosts += threads[i].ghosts;
		o->copied += threads[i].copied;
	}
	for (i = 0; i < SLOTS; i++)
		table_free(current[i]);
}

struct variant {
	const char *what;
	struct shape shape;
	unsigned int out;
	bool no_grace;
	int status; /* wanted */
};

static const struct variant variants[] = {
	{ "L=1, W=700", { 1, 10, 700, 1024 }, 0, false, 0 },
	{ "L=1, W=70", { 1, 7, 70, 256 }, 0, false, 0 },
	{ "L=2, W=140", { 2, 12, 140, 256 }, 0, false, 0 },
	{ "L=4, W=280", { 4, 20, 280, 256 }, 0, false, 0 },
	{ "a plain store instead of compare-and-swap",
	  { 1, 7, 70, 256 },
	  RACE_NO_CAS | RACE_PLAIN,
	  false,
	  STATUS_RACE },
	{ "a plain load and store instead of the OR",
	  { 1, 7, 70, 256 },
	  RACE_NO_ATOMIC_OR | RACE_PLAIN,
	  false,
	  STATUS_RACE },
	{ "no release of the epoch", { 1, 7, 70, 256 }, RACE_NO_RELEASE, false, STATUS_RACE },
	{ "no grace period before a table is freed", { 1, 7, 700, 256 }, 0, true, STATUS_RACE },
	{ "an atomic store instead of compare-and-swap",
	  { 1, 7, 700, 256 },
	  RACE_NO_CAS,
	  false,
	  STATUS_LOST },
	{ "an OR of two atomic steps", { 1, 7, 700, 256 }, RACE_NO_ATOMIC_OR, false, STATUS_LOST },
	{ "an OR that tells the word afterwards",
	  { 2, 12, 700, 256 },
	  RACE_OR_SEES_SELF,
	  false,
	  STATUS_LOST },
};

#define NR_VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* Run a variant in a child process. Return: its exit status. */
static int run(const struct variant *v)
{
	struct outcome o = { 0 };
	int i = 0;

	race_point = race_stall;
	race_reread = no_point;
	race_out = v->out;
	shape = v->shape;
	grace = !v->no_grace;
	sights = (struct sight *)calloc(SIGHTS, sizeof(*sights));
	if (!sights)
		return 2;
	do
		play(&o);
	while (v->status && !o.lost && ++i < ROUNDS);
	printf("# %llu inserts, %llu tests, %llu pairs, %llu keys in %llu snapshots, %llu rotations, %llu swaps, %llu replaced: %llu violations, %llu ghosts\n",
	       o.keys, o.tests, pairs, o.copied, snapshots, rotations, swaps, replaced, o.lost,
	       o.ghosts);
	free(sights);
	if (!v->status && (!pairs || !o.copied || !swaps || !replaced))
		return 2;
	return o.lost || o.ghosts > GHOSTS ? STATUS_LOST : 0;
}

/* Return: exit status of a child that runs variant @nr. */
static int in_child(const char *self, size_t nr)
{
	const struct variant *v = &variants[nr];
	posix_spawn_file_actions_t actions;
	extern char **environ;
	char text[24];
	char *args[] = { (char *)self, text, NULL };
	int status = -1;
	pid_t pid;

	snprintf(text, sizeof(text), "%zu", nr);
	posix_spawn_file_actions_init(&actions);
	/* the report of an expected race is not shown */
	if (v->status)
		posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	fflush(stdout);
	if (posix_spawn(&pid, self, &actions, NULL, args, environ) ||
	    waitpid(pid, &status, 0) != pid)
		return -1;
	posix_spawn_file_actions_destroy(&actions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
	size_t i;
	int status;

	if (argc > 1)
		return run(&variants[strtoul(argv[1], NULL, 10) % NR_VARIANTS]);
	setenv("TSAN_OPTIONS", "halt_on_error=1 exitcode=66", 1);
	tap_plan(NR_VARIANTS);
	for (i = 0; i < NR_VARIANTS; i++) {
		status = in_child("/proc/self/exe", i);
		tap_ok(status == variants[i].status, "%s: %s%s",
		       variants[i].status ? "caught" : "clean", variants[i].what,
		       status == STATUS_RACE ? ": a race" :
		       status == STATUS_LOST ? ": laws broken" :
					       "");
	}
	return tap_end();
}
