// SPDX-License-Identifier: GPL-2.0
/*
 * The property of snapshots of the locked kinds, under load and at several phases of
 * the epoch: a copy made piece by piece has every key that was inserted before it began
 * and is still in the window when it ends, and reports none older than it is.
 *
 * Threads insert their own keys without pause, and log for each batch the epoch and the
 * time before it. A batch is certainly in the window if these are: by the time for tlbf
 * and chain, by the epoch for the others.
 *
 * Nothing depends on the speed of the machine. If epochs end by count, the threads are
 * blocked while the epoch is filled up to the desired phase, until the copy has begun;
 * and a copy waits at times until each thread has inserted some batches. These are few,
 * because during a copy epochs do not end and no memory is added, and an overfull
 * filter would answer "present" even for lost keys.
 */
#include "sized.h"

#include "audit.h"
#include "kinds/compare.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define WINDOW 40000u
#define SPAN (4 * SEC)
#define BATCH 16u
#define LOG 65536u /* batches that a thread remembers */
#define BACK 200u  /* number of recent batches asked for */
#define THREADS 2
#define STREAMS (THREADS + 1) /* the last stream fills up epochs */
#define EIGHTHS 8u
#define STEPS 64u     /* pieces of a copy, at most */
#define WAIT_STEPS 8u /* pieces before which it waits for the threads */
#define GO_ON 4u      /* batches of each thread, in a wait and after it */

struct batch {
	__u64 epoch, ns; /* before it */
};

struct inserter {
	pthread_t id;
	__u64 stream;
	__u64 done; /* batches done; written by the inserting thread, with release */
	__u64 may;  /* batches allowed; written by the main thread, a plain number */
	struct batch log[LOG];
};

/**
 * struct load - a filter under load
 * @kind: enum epf_kind
 * @fd: filter
 * @other: another filter, to restore into
 * @epochs: complete epochs in the window
 * @each: insertions in an epoch
 */
struct load {
	__u32 kind;
	int fd;
	int other;
	__u32 epochs;
	__u64 each;
};

struct copy {
	struct epf_snap_header header;
	struct epf_snap_locked *locked; /* followed by its words */
	__u32 phase;                    /* when it began, within its epoch */
	__u64 done[STREAMS];            /* batches done when it began */
};

struct sums {
	__u64 live, lost, old, again;
};

static struct inserter inserters[STREAMS];
static struct load load;
static bool stop;
/* Each thread holds it for a batch; a thread that wants it exclusively has priority. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static bool in_time(void)
{
	return test_is_resizable(load.kind);
}

static __u64 done(int i)
{
	return __atomic_load_n(&inserters[i].done, __ATOMIC_ACQUIRE);
}

static void insert_batch(struct inserter *t)
{
	__u64 n = t->done;
	struct batch *b = &t->log[n % LOG];

	b->epoch = test_info(load.fd).epoch;
	b->ns = test_now();
	test_insert(load.fd, t->stream, n * BATCH, BATCH);
	__atomic_store_n(&t->done, n + 1, __ATOMIC_RELEASE);
}

static void *insert(void *arg)
{
	struct inserter *t = (struct inserter *)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (t->done >= __atomic_load_n(&t->may, __ATOMIC_RELAXED)) {
			sched_yield();
			continue;
		}
		pthread_rwlock_rdlock(&gate);
		insert_batch(t);
		pthread_rwlock_unlock(&gate);
	}
	return NULL;
}

/* With all threads blocked, fill an epoch up to the middle of an eighth. */
static void fill_up(__u32 eighth)
{
	__u64 keys = load.each * (2 * eighth + 1) / (2 * EIGHTHS), n;

	test_demand(!epf_filter_rotate(load.fd, 1, NULL));
	for (n = BATCH; n <= keys; n += BATCH)
		insert_batch(&inserters[THREADS]);
}

static void note_done(struct copy *c)
{
	int i;

	for (i = 0; i < STREAMS; i++)
		c->done[i] = done(i);
}

/* Wait until each thread has inserted something from now on, by @batches at most. A
 * thread in the middle of a batch may have begun it before.
 */
static void let_others_go_on(__u64 batches)
{
	__u64 seen[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		seen[i] = done(i);
		__atomic_store_n(&inserters[i].may, seen[i] + batches, __ATOMIC_RELAXED);
	}
	for (i = 0; i < THREADS; i++)
		while (done(i) < seen[i] + 2)
			sched_yield();
}

static void read_at(__u32 flags, __u64 at, __u64 bytes, void *to)
{
	test_demand(!test_snap_read(load.fd, flags, at, bytes, to));
}

/* Read some pieces at a time, the last first, because any order must work. */
static void read_words(void *to, __u64 bytes)
{
	__u64 some = (bytes / STEPS / PAGE + 1) * PAGE;
	__u64 step = (bytes - 1) / some;

	for (;; step--) {
		__u64 at = step * some;

		read_at(0, at, bytes - at < some ? bytes - at : some, (char *)to + at);
		if (!step)
			return;
		if (step % (STEPS / WAIT_STEPS) == 1)
			let_others_go_on(GO_ON);
	}
}

/* No insertion comes between the chosen phase and the beginning of the copy. */
static void begin(__u32 eighth, struct copy *c, struct epf_snap_locked *s)
{
	if (!in_time()) {
		pthread_rwlock_wrlock(&gate);
		fill_up(eighth);
	}
	test_demand(!test_snap_begin(load.fd, EPF_PIN_MAX_NS, NULL));
	note_done(c);
	read_at(EPF_SNAP_STATE, 0, sizeof(*s), s);
	if (!in_time())
		pthread_rwlock_unlock(&gate);
	c->phase = s->past[0].inserts * EIGHTHS / load.each;
}

/* @late: also ask for keys inserted during the copy, which must fail. */
static struct copy take(__u32 eighth, bool late)
{
	static struct epf_snap_locked first;
	struct epf_snap s;
	struct copy c;

	begin(eighth, &c, &first);
	c.locked = malloc(sizeof(first) + first.words * 8);
	test_demand(c.locked);
	read_words(c.locked + 1, first.words * 8);
	if (late)
		note_done(&c);
	read_at(EPF_SNAP_STATE, 0, sizeof(first), c.locked);
	test_demand(c.locked->words == first.words);
	test_demand(!test_snap_end(load.fd, &s));
	c.header = s.header;
	return c;
}

static bool is_live(const struct batch *b, const struct copy *c, __u64 later_ns)
{
	if (in_time())
		return b->ns + SPAN >= c->locked->now + later_ns;
	return b->epoch + load.epochs >= c->locked->epoch;
}

static __u64 first_asked(__u64 done)
{
	return done < BACK ? 0 : done - BACK;
}

/* If the batch was live, are its keys present, and not reported older? */
static void judge(const struct copy *c, const struct batch *b, const unsigned char *age,
		  struct sums *sum)
{
	__u32 i;

	if (!is_live(b, c, 0))
		return;
	for (i = 0; i < BATCH; i++) {
		sum->live++;
		sum->lost += age[i] == EPF_AGE_ABSENT;
		sum->old += age[i] != EPF_AGE_ABSENT && !in_time() &&
			    age[i] > c->locked->epoch - b->epoch;
	}
}

static void check_stream(const struct copy *c, const struct epf_view *v, int i, struct sums *sum)
{
	static unsigned char ages[BACK * BATCH], bitmap[BACK * BATCH / 8];
	static __u64 digests[BACK * BATCH];
	struct epf_answer a = { .bitmap = bitmap, .ages = ages };
	__u64 first = first_asked(c->done[i]), n;
	struct epf_keys keys = { .data = digests, .n = (c->done[i] - first) * BATCH };

	for (n = 0; n < keys.n; n++)
		digests[n] = test_digest(inserters[i].stream, first * BATCH + n);
	test_demand(!epf_engine_find("scalar")->query(v, &keys, &a));
	for (n = first; n < c->done[i]; n++)
		judge(c, &inserters[i].log[n % LOG], ages + (n - first) * BATCH, sum);
	test_demand(done(i) < c->done[i] + LOG - BACK);
}

static void check(const struct copy *c, struct sums *sum)
{
	struct epf_view v;
	int i;

	test_demand(!epf_view_locked(&v, &c->header.params, NULL, c->locked, c->locked + 1));
	for (i = 0; i < STREAMS; i++)
		check_stream(c, &v, i, sum);
	epf_view_close(&v);
}

/* Check the property in a filter restored from the copy. */
static void check_restored(const struct copy *c, struct sums *sum)
{
	__u64 since = test_now(), n, back;
	long found;
	int i;

	test_demand(!test_restore(load.other, &c->header, c->locked));
	for (i = 0; i < STREAMS; i++)
		for (back = 1; back <= 40 && back * 30 < c->done[i]; back++) {
			n = c->done[i] - back * 30;
			found = test_count(load.other, inserters[i].stream, n * BATCH, BATCH);
			if (is_live(&inserters[i].log[n % LOG], c, test_now() - since))
				sum->again += (__u64)(BATCH - found);
		}
}

static __u64 lost_in_stale(void)
{
	struct sums sum = { 0 };
	struct copy c;
	int i;

	for (i = 0; i < 30 && !sum.lost; i++) {
		c = take(i % EIGHTHS, true);
		check(&c, &sum);
		free(c.locked);
	}
	return sum.lost;
}

/* Return: number of invalid snapshots. Memory may come and go until a snapshot begins,
 * but not during it: a snapshot that ends in time is always valid, whatever the worker
 * and its timer do. Keys come without pause meanwhile.
 */
static __u32 void_ones(__u32 begun)
{
	__u64 batches = in_time() ? LOG : GO_ON;
	static struct epf_snap_locked state;
	__u32 n, wrong = 0;

	for (n = 0; n < begun; n++) {
		test_demand(!test_snap_begin(load.fd, EPF_PIN_MAX_NS, NULL));
		let_others_go_on(batches);
		wrong += !!test_snap_read(load.fd, EPF_SNAP_STATE, 0, sizeof(state), &state);
		wrong += !!test_snap_end(load.fd, NULL);
	}
	return wrong;
}

static void start(__u32 kind)
{
	struct epf_params p = test_locked_params("mod-load", kind, WINDOW);
	struct epf_compared c = test_sized(kind, WINDOW, 1e-3);
	int i;

	load = (struct load){ .kind = kind,
			      .epochs = c.epochs,
			      .each = (WINDOW + c.epochs - 1) / c.epochs };
	if (in_time())
		test_set_span(&p, SPAN);
	load.fd = test_make_kind(&p, &c.shape);
	strcpy(p.name, "mod-load-new");
	load.other = test_make_kind(&p, &c.shape);
	stop = false;
	for (i = 0; i < STREAMS; i++) {
		inserters[i].stream = (__u64)i + 1;
		inserters[i].done = 0;
		inserters[i].may = 0;
	}
	for (i = 0; i < THREADS; i++)
		test_demand(!pthread_create(&inserters[i].id, NULL, insert, &inserters[i]));
}

static void finish(void)
{
	int i;

	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		pthread_join(inserters[i].id, NULL);
	close(load.other);
	close(load.fd);
}

#define LAW_POINTS 6
static void law(__u32 kind)
{
	const char *name = epf_kind_name(kind);
	__u64 until = test_now() + test_rounds(1, 2) * SPAN;
	struct sums sum = { 0 };
	__u32 begun = test_rounds(10, 500), wrong;
	__u32 copies = (__u32)test_rounds(1, 3) * EIGHTHS;
	__u32 n, met = 0;
	struct copy c;
	__u64 stale;

	start(kind);
	let_others_go_on(GO_ON);
	wrong = void_ones(begun);
	for (n = 0; n < copies || (in_time() && test_now() < until); n++) {
		c = take(n % EIGHTHS, false);
		check(&c, &sum);
		if (n % 4 == 1)
			check_restored(&c, &sum);
		met += in_time() || c.phase == n % EIGHTHS;
		free(c.locked);
	}
	stale = lost_in_stale();
	finish();
	tap_ok(!wrong, "%s: begun %u times, %u void", name, begun, wrong);
	tap_ok(met == n, "%s: %u copies%s", name, n,
	       in_time() ? "" : ", begun in each eighth of an epoch");
	tap_ok(sum.live > 10000 && !sum.lost, "%llu keys of the window asked for, %llu lost",
	       sum.live, sum.lost);
	tap_ok(!sum.old, "%llu told older than they are", sum.old);
	tap_ok(!sum.again, "restored: %llu lost", sum.again);
	tap_ok(stale, "noticed: a copy older than it says: %llu lost", stale);
}

int main(void)
{
	__u32 kind;

	test_begin(EPF_KIND_MAX * LAW_POINTS + 1);
	for (kind = 1; kind <= EPF_KIND_MAX; kind++)
		law(kind);
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
