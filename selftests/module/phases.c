// SPDX-License-Identifier: GPL-2.0
/*
 * The property of snapshots, under full load and at every phase of the rotation: a copy
 * made between BEGIN and END has every key inserted before the copy began that is still
 * live at its epoch_end.
 *
 * Threads insert their own keys without pause, and log for each batch the epoch before
 * and after it. A batch is certainly live if the first of these is, and certainly gone
 * if the second is. The scalar engine of audits answers. A phase is an epoch modulo 8
 * and an eighth of its insertions. Every other snapshot lets rotation go on and waits
 * in the middle until all threads have inserted something, or an epoch has ended.
 */
#include "epftest.h"

#include <audit.h>
#include <copy.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define LINES 4096u
#define EPOCH 1000u
#define BATCH 16u
#define LOG 16384u /* batches that a thread remembers */
#define BACK 200u  /* number of recent batches looked at */
#define THREADS 3
#define EIGHTHS 8u
#define PHASES (EPF_EPOCHS * EIGHTHS)
#define SNAPSHOTS_MAX 20000u
#define ASKED 500 /* times to wait before a snapshot */

struct batch {
	__u64 low, high; /* epochs before and after it */
};

struct inserter {
	pthread_t id;
	__u64 stream;
	__u64 done;  /* batches done; written by the thread, with release */
	__u64 noted; /* value of @done when a copy began; a plain number */
	struct batch log[LOG];
};

static struct inserter inserters[THREADS];
static bool stop;
static int fd;
static char lines[LINES * EPF_LINE_BYTES] __attribute__((aligned(64)));

/* Wait so that the keys a copy is asked for are still in the log. */
static void wait_for_copy(const struct inserter *t, __u64 n)
{
	while (n - __atomic_load_n(&t->noted, __ATOMIC_RELAXED) >= LOG - 2 * BACK &&
	       !__atomic_load_n(&stop, __ATOMIC_RELAXED))
		sched_yield();
}

static void *insert(void *arg)
{
	struct inserter *t = (struct inserter *)arg;
	struct batch *b;
	__u64 n;

	for (n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		wait_for_copy(t, n);
		b = &t->log[n % LOG];
		b->low = test_info(fd).epoch;
		test_insert(fd, t->stream, n * BATCH, BATCH);
		b->high = test_info(fd).epoch;
		__atomic_store_n(&t->done, n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

struct copy {
	struct epf_snap_header begin, end;
	__u64 done[THREADS]; /* batches done when the copy began */
};

static __u64 done(int i)
{
	return __atomic_load_n(&inserters[i].done, __ATOMIC_ACQUIRE);
}

static void note_done(struct copy *c)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		c->done[i] = done(i);
		__atomic_store_n(&inserters[i].noted, c->done[i], __ATOMIC_RELAXED);
	}
}

/* Wait until each thread has inserted something from now on. */
static void let_others_go_on(void)
{
	__u64 seen;
	int i;

	for (i = 0; i < THREADS; i++) {
		seen = done(i);
		while (done(i) < seen + 2)
			sched_yield();
	}
}

/* @meanwhile: called in the middle */
static void copy_lines(const char *from, void (*meanwhile)(void))
{
	size_t half = sizeof(lines) / 2;

	epf_copy_words(lines, from, half);
	if (meanwhile)
		meanwhile();
	epf_copy_words(lines + half, from + half, half);
}

static void let_it_rotate(void)
{
	test_demand(test_wait_epoch(fd, test_info(fd).epoch + 1));
}

/* Copy words in two pieces, which no copy may do: epochs that end in between leave old
 * positions under a new tag.
 */
static void copy_torn(const char *from)
{
	__u64 end = test_info(fd).epoch + EPF_EPOCHS + 1;
	size_t i;

	memcpy(lines, from, sizeof(lines));
	test_demand(test_wait_epoch(fd, end));
	for (i = sizeof(__u64) - 1; i < sizeof(lines); i += sizeof(__u64))
		lines[i] = from[i];
}

enum how { AT_ONCE, SLOWLY, ROTATING, TOO_LATE, TORN };

/* @how: TOO_LATE: also ask for keys inserted during the copy. */
static void snapshot(struct copy *c, const char *from, enum how how)
{
	struct epf_snap s;

	test_demand(!test_snap_begin(fd, how == AT_ONCE ? SEC : 1, &s));
	c->begin = s.header;
	note_done(c);
	if (how == TORN)
		copy_torn(from);
	else
		copy_lines(from, how == AT_ONCE  ? NULL :
				 how == ROTATING ? let_it_rotate :
						   let_others_go_on);
	if (how == TOO_LATE)
		note_done(c);
	test_demand(!test_snap_end(fd, &s));
	c->end = s.header;
}

struct sums {
	__u64 live, lost, gone, ghosts;
};

/* A copy during which tags wrapped (32 epochs) may have keys long gone. */
static bool tags_came_round(const struct epf_snap_header *h)
{
	return h->epoch_end - h->epoch_begin > 32 - 2 * EPF_EPOCHS;
}

/* While a snapshot pins an epoch on a slow machine, the epoch takes many times the keys
 * that the filter is sized for: then keys long gone are false positives.
 */
static bool overfull(const struct epf_snap_header *h)
{
	int i;

	for (i = 0; i < EPF_EPOCHS; i++)
		if (h->epochs[i].inserts > 4 * EPOCH)
			return true;
	return false;
}

/* Ask for the keys of BACK batches from @first on, at @epoch. */
static void ask(const struct copy *c, const struct inserter *t, __u64 first, __u64 epoch,
		unsigned char *ages)
{
	static __u64 digest[BACK * BATCH];
	static unsigned char bitmap[BACK * BATCH / 8];
	struct epf_keys keys = { .data = digest, .n = BACK * BATCH };
	struct epf_answer a = { .bitmap = bitmap, .ages = ages, .threads = 1 };
	struct epf_view v;
	__u64 i;

	for (i = 0; i < keys.n; i++)
		digest[i] = test_digest(t->stream, first * BATCH + i);
	test_demand(!epf_view_init(&v, lines, &c->end.params, NULL, epoch));
	test_demand(!epf_engine_at(0)->query(&v, &keys, &a));
}

/* @gone: also count keys that are out of the window. */
static void check_batch(const struct batch *b, const unsigned char *ages, __u64 epoch, bool gone,
			struct sums *sum)
{
	bool live = b->low + EPF_LIVE_EPOCHS >= epoch;
	__u64 i, found = 0;

	if (!live && (!gone || b->high + EPF_LIVE_EPOCHS >= epoch))
		return;
	for (i = 0; i < BATCH; i++)
		found += ages[i] != EPF_AGE_ABSENT;
	*(live ? &sum->live : &sum->gone) += BATCH;
	*(live ? &sum->lost : &sum->ghosts) += live ? BATCH - found : found;
}

static void check(const struct copy *c, __u64 epoch, struct sums *sum)
{
	static unsigned char ages[BACK * BATCH];
	__u64 n, first;
	int i;

	for (i = 0; i < THREADS; i++) {
		first = c->done[i] < BACK ? 0 : c->done[i] - BACK;
		ask(c, &inserters[i], first, epoch, ages);
		for (n = first; n < c->done[i]; n++)
			check_batch(&inserters[i].log[n % LOG], ages + (n - first) * BATCH, epoch,
				    !tags_came_round(&c->end) && !overfull(&c->end), sum);
		test_demand(done(i) < c->done[i] + LOG - BACK);
	}
}

static __u32 phase(__u64 epoch, __u64 inserts)
{
	__u64 part = inserts * EIGHTHS / EPOCH;

	return (epoch & 7) * EIGHTHS + (part < EIGHTHS ? part : EIGHTHS - 1);
}

/* Check the property in a filter restored from the copy, through the module. */
static __u64 lost_in_restored(int other, const struct copy *c)
{
	__u64 n, lost = 0;
	int i;

	test_demand(!test_restore(other, &c->end, lines));
	for (i = 0; i < THREADS; i++)
		for (n = c->done[i]; n-- && c->done[i] - n < 64;)
			if (inserters[i].log[n % LOG].low + EPF_LIVE_EPOCHS >= c->end.epoch_end)
				lost += BATCH - (__u64)test_count(other, inserters[i].stream,
								  n * BATCH, BATCH);
	return lost;
}

/* @at_begin: judge as if copies were read at the epoch when they began */
struct outcome {
	struct sums sums, at_begin;
	__u64 lost_in_restored;
	__u32 phases, snapshots, moved;
	__u32 of[PHASES];
};

/* Wait until the filter is in a phase that was not seen as often as required, or the
 * patience is over. The next snapshot may still fall into another phase.
 */
static void wait_for_phase(const struct outcome *o)
{
	struct epf_info info;
	__u32 now;
	int i;

	for (i = 0; i < ASKED && o->phases < PHASES; i++) {
		info = test_info(fd);
		now = phase(info.epoch, info.epochs[0].inserts);
		if (o->of[now] < test_rounds(1, 2))
			return;
		sched_yield();
	}
}

static void one(struct outcome *o, const char *from, int other)
{
	struct copy c;
	__u32 now;

	wait_for_phase(o);
	snapshot(&c, from, o->snapshots % 16 == 1 ? ROTATING : o->snapshots & 1 ? SLOWLY : AT_ONCE);
	check(&c, c.end.epoch_end, &o->sums);
	if (c.end.epoch_end != c.end.epoch_begin)
		check(&c, c.end.epoch_begin, &o->at_begin);
	if (o->snapshots % 8 == 1)
		o->lost_in_restored += lost_in_restored(other, &c);
	now = phase(c.begin.epoch_end, c.begin.epochs[c.begin.epoch_end & 7].inserts);
	o->phases += ++o->of[now] == test_rounds(1, 2);
	o->moved += c.end.epoch_end != c.begin.epoch_begin;
	o->snapshots++;
}

static bool loses(const struct sums *sum)
{
	return sum->lost;
}

static bool revives(const struct sums *sum)
{
	return sum->ghosts > sum->gone / 100;
}

/* Copies that violate their description, until the test notices. */
static void spoil(const char *from, enum how how, struct sums *sum,
		  bool (*noticed)(const struct sums *))
{
	struct copy c;
	int i;

	for (i = 0; i < 100 && !noticed(sum); i++) {
		snapshot(&c, from, how);
		check(&c, c.end.epoch_end, sum);
	}
}

static void judge(const struct outcome *o, const struct sums *late, const struct sums *torn)
{
	tap_ok(o->phases == PHASES, "%u snapshots, at all of %u phases", o->snapshots, o->phases);
	tap_ok(o->moved > 0, "rotation went on during %u of them", o->moved);
	tap_ok(o->sums.live > 1000 && !o->sums.lost, "%llu live keys asked for, %llu lost",
	       o->sums.live, o->sums.lost);
	tap_ok(o->sums.gone > 1000 && o->sums.ghosts <= o->sums.gone / 10000,
	       "%llu keys older than the window, %llu found", o->sums.gone, o->sums.ghosts);
	tap_ok(!o->lost_in_restored, "restored: %llu lost", o->lost_in_restored);
	tap_ok(loses(late), "noticed: a copy older than it says: %llu lost", late->lost);
	tap_ok(o->at_begin.lost, "noticed: copies read at the epoch when they began: %llu lost",
	       o->at_begin.lost);
	tap_ok(revives(torn), "noticed: words copied in pieces: of %llu keys long gone %llu found",
	       torn->gone, torn->ghosts);
}

int main(void)
{
	struct epf_params p = test_params("mod-phases", LINES, 2, 10, EPOCH * EPF_LIVE_EPOCHS);
	static struct outcome o;
	struct sums late = { 0 }, torn = { 0 };
	char *from;
	int i, other;

	test_begin(8);
	fd = test_make(&p);
	other = test_make_plain("mod-phases-new", EPOCH);
	from = mmap(NULL, sizeof(lines), PROT_READ, MAP_SHARED, fd, 0);
	test_demand(from != MAP_FAILED);
	for (i = 0; i < THREADS; i++) {
		inserters[i].stream = i + 1;
		test_demand(!pthread_create(&inserters[i].id, NULL, insert, &inserters[i]));
	}
	while (o.snapshots < test_rounds(1, 8) * PHASES ||
	       (o.phases < PHASES && o.snapshots < SNAPSHOTS_MAX))
		one(&o, from, other);
	spoil(from, TOO_LATE, &late, loses);
	spoil(from, TORN, &torn, revives);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		pthread_join(inserters[i].id, NULL);
	judge(&o, &late, &torn);
	munmap(from, sizeof(lines));
	close(other);
	close(fd);
	return test_end();
}
