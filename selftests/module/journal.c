// SPDX-License-Identifier: GPL-2.0
/*
 * The journal of a filter: a mirror that follows it equals a fresh copy, bit by bit, at
 * every phase of the rotation, while all CPUs insert; or it is told that it was too
 * slow, or that the filter has other contents.
 *
 * A phase is an epoch modulo 8 and, if insertions end it, a quarter of them. The mirror
 * follows while threads insert; then they pause, and it is compared. Windows are so
 * short that CPUs hold back no counts, so counts are exact.
 */
#include "../mirrored.h"
#include "../locked.h"
#include "epftest.h"

#include <epf/journal.h>
#include <epf/window.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define LINES 512u
#define EPOCH 96u
#define EPOCH_NS (40 * MS)
#define THREADS 3
#define BATCH_MAX 32u
#define QUARTERS 4u
#define TRIES 60u
#define RECORDS 1000
#define ORDER 12u

/* ---- inserters ---- */

struct inserter {
	pthread_t id;
	__u64 stream;
	__u64 done;
};

static struct inserter inserters[THREADS];
static int fd;
static bool stop;
static pthread_rwlock_t resting = /* a writer, who wants all threads to pause, has priority */
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* Insert own keys and some that all threads insert, in batches of up to BATCH_MAX. */
static void *insert(void *arg)
{
	struct inserter *t = (struct inserter *)arg;
	__u64 n, i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		n = 1 + epf_word(t->stream, (__u32)i) % BATCH_MAX;
		pthread_rwlock_rdlock(&resting);
		test_demand(test_digests(fd, i % 2 ? EPF_IOC_INSERT : EPF_IOC_TEST_AND_INSERT,
					 i % 3 ? t->stream : 99, t->done % 100000, n) >= 0);
		pthread_rwlock_unlock(&resting);
		__atomic_fetch_add(&t->done, n, __ATOMIC_RELAXED);
		sched_yield();
	}
	return NULL;
}

static void start_inserters(void)
{
	int i;

	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		inserters[i].stream = (__u64)i + 1;
		test_demand(!pthread_create(&inserters[i].id, NULL, insert, &inserters[i]));
	}
}

static __u64 stop_inserters(void)
{
	__u64 sum = 0;
	int i;

	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		pthread_join(inserters[i].id, NULL);
		sum += inserters[i].done;
		inserters[i].done = 0;
	}
	return sum;
}

/* ---- the law ---- */

static struct epf_params shape(__u32 parts, __u32 mode)
{
	struct epf_params p = test_params("mod-journal", LINES, parts, 4 * parts,
					  EPOCH * EPF_LIVE_EPOCHS);

	p.mode = mode;
	if (mode != EPF_MODE_COUNT)
		p.window_ns = EPOCH_NS * EPF_LIVE_EPOCHS;
	if (mode == EPF_MODE_TIME)
		p.window_inserts = 0;
	return p;
}

static __u32 phase(const struct epf_mirror *m, __u32 mode)
{
	struct epf_snap_header h;
	__u64 part = 0;

	epf_mirror_header(m, &h);
	if (mode == EPF_MODE_COUNT)
		part = h.epochs[h.epoch_end & 7].inserts * QUARTERS / EPOCH;
	return (h.epoch_end & 7) * QUARTERS + (part < QUARTERS ? part : QUARTERS - 1);
}

/* Equal except for the insertions of the current epoch: in mode time CPUs hold some
 * back from a copy; and some may have been under way when the mirror was made, in epoch
 * @made.
 */
static bool as_counted(const struct mirrored *d, __u32 mode, __u64 made)
{
	__u64 e = d->fresh.epoch_end, n = d->mirror.epochs[e & 7].inserts;

	return d->ret >= 0 && !d->words && !d->starts && d->counts == 1 &&
	       d->mirror.epoch_end == e &&
	       ((mode == EPF_MODE_TIME && n > d->fresh.epochs[e & 7].inserts) ||
		(e <= made && n < d->fresh.epochs[e & 7].inserts));
}

static __u64 epoch_of(const struct epf_mirror *m)
{
	struct epf_snap_header h;

	epf_mirror_header(m, &h);
	return h.epoch_end;
}

#define LAW_POINTS 3
/* Check the property on the filter @fd, which is empty; it is closed. */
static void law_of(__u32 parts, __u32 mode, __u32 shards, const char *what)
{
	__u32 want = EPF_EPOCHS * (mode == EPF_MODE_COUNT ? QUARTERS : 1);
	__u64 end = test_now() + PATIENCE_NS, inserts, made;
	__u32 seen = 0, phases = 0, same = 0, tries = 0, renewed = 0;
	struct epf_mirror *m;
	struct mirrored d;
	long n, records = 0;
	bool eq;

	start_inserters();
	test_demand(!epf_mirror_open(fd, ORDER, shards, &m));
	made = epoch_of(m);
	while ((phases < want || tries < TRIES || records < RECORDS) && test_now() < end) {
		n = epf_mirror_follow(m);
		if (n == -EOVERFLOW) {
			renewed++;
			test_demand(!epf_mirror_renew(m));
			made = epoch_of(m);
			continue;
		}
		test_demand(n >= 0);
		records += n;
		pthread_rwlock_wrlock(&resting);
		eq = mirrored_equal(fd, m, &d) || as_counted(&d, mode, made);
		if (!(seen >> phase(m, mode) & 1))
			phases++;
		seen |= 1u << phase(m, mode);
		pthread_rwlock_unlock(&resting);
		if (!eq && d.ret != -EOVERFLOW)
			mirrored_tell(&d);
		if (d.ret >= 0) {
			tries++;
			same += eq;
		}
	}
	inserts = stop_inserters();
	tap_ok(same == tries && tries >= TRIES,
	       "L = %u, %s, %u rings: %u of %u times equal to a fresh copy", parts, what, shards,
	       same, tries);
	tap_ok(phases == want, "at %u of %u phases", phases, want);
	tap_ok(records >= RECORDS, "%llu insertions, %ld records followed meanwhile, %u new copies",
	       inserts, records, renewed);
	epf_mirror_close(m);
	close(fd);
}

static void law(__u32 parts, __u32 mode, __u32 shards)
{
	static const char *const names[] = { "mode count", "mode time", "mode either",
					     "mode both" };
	struct epf_params p = shape(parts, mode);

	fd = test_make(&p);
	law_of(parts, mode, shards, names[mode]);
}

/* ---- by the wall clock ---- */

#define PITCH_NS (800 * MS) /* almost a second: a timer may be late by an eighth of it */

static struct epf_window aligned_window(void)
{
	struct epf_window w;

	test_demand(!epf_window_init(&w, EPF_MODE_TIME, 0, 0, PITCH_NS * EPF_LIVE_EPOCHS) &&
		    !epf_window_align(&w));
	return w;
}

static void make_aligned(__u32 parts, __u64 epoch_ns)
{
	const struct epf_create_opts o = {
		.size = sizeof(o),
		.key = test_key,
		.flags = EPF_CREATE_ALIGN,
	};
	struct epf_params p = shape(parts, EPF_MODE_TIME);

	p.window_ns = epoch_ns * EPF_LIVE_EPOCHS;
	test_destroy(p.name, EPF_DESTROY_FORCE);
	test_demand(!epf_dev_create_opts(test_dev, &p, &o, NULL));
	fd = test_open(p.name);
	test_demand(fd >= 0 && test_info(fd).flags & EPF_INFO_ALIGNED);
}

/* By the mirror's header, do the last three boundaries lie at multiples? */
static bool at_multiples(void *arg)
{
	struct epf_mirror *m = (struct epf_mirror *)arg;
	struct epf_window w = aligned_window();
	struct epf_snap_header h;
	__u64 start;
	__u32 i;

	test_insert(fd, 7, 0, 20);
	test_demand(epf_mirror_follow(m) >= 0);
	epf_mirror_header(m, &h);
	for (i = 0; i < 3; i++) {
		start = h.realtime_ns - h.epochs[(h.epoch_end - i) & 7].age_ns;
		if (start % w.align_ns > epf_align_near(w.align_ns))
			return false;
	}
	return h.epoch_end >= EPF_EPOCH_FIRST + 3;
}

static __u64 wall(void)
{
	struct timespec ts;

	test_demand(!clock_gettime(CLOCK_REALTIME, &ts));
	return (__u64)ts.tv_sec * SEC + (__u64)ts.tv_nsec;
}

static void set_clock(__s64 by_ns)
{
	__u64 ns = wall() + (__u64)by_ns;
	struct timespec ts = { .tv_sec = (time_t)(ns / SEC), .tv_nsec = (long)(ns % SEC) };

	test_demand(!clock_settime(CLOCK_REALTIME, &ts));
}

/* Does its header describe the current moment? */
static bool tells_now(const struct epf_mirror *m)
{
	__u64 before = wall();
	struct epf_snap_header h;

	epf_mirror_header(m, &h);
	return h.realtime_ns >= before && h.realtime_ns <= wall();
}

static bool mirrors(struct epf_mirror *m, __u64 made)
{
	struct mirrored d;

	if ((mirrored_equal(fd, m, &d) || as_counted(&d, EPF_MODE_TIME, made)) && tells_now(m))
		return true;
	mirrored_tell(&d);
	return false;
}

/* The wall clock is set: a mirror learns the effect from records alone. */
#define ALIGNED_POINTS 6
static void try_aligned(void)
{
	static const __s64 steps[] = { 10 * SEC + 7 * MS, -20 * (__s64)SEC, PITCH_NS / 3 };
	struct epf_mirror *m;
	struct mirrored d;
	__s64 all = 0;
	bool same = true;
	__u64 made;
	__u32 i;

	make_aligned(2, PITCH_NS);
	test_demand(!epf_mirror_open(fd, ORDER, 0, &m));
	made = epoch_of(m);
	tap_ok(test_wait(at_multiples, m),
	       "aligned: the mirror tells epochs that begin at multiples");
	for (i = 0; i < ARRAY_LEN(steps); i++) {
		set_clock(steps[i]);
		same = mirrors(m, made) && same;
		tap_ok(test_wait(at_multiples, m), "the clock set by %lld ms: soon it does again",
		       steps[i] / (__s64)MS);
		same = mirrors(m, made) && same;
		all += steps[i];
	}
	tap_ok(same, "and is equal to a fresh copy, before and after, as of now");
	test_demand(!epf_filter_clear(fd));
	tap_ok(mirrored_equal(fd, m, &d) && !d.set, "cleared: empty as well");
	set_clock(-all);
	epf_mirror_close(m);
	close(fd);
}

/* ---- too slow ---- */

#define OVERRUN_POINTS 6
static void try_overrun(void)
{
	struct epf_params p = shape(2, EPF_MODE_COUNT);
	__u32 over = 0, same = 0, i;
	struct epf_mirror *m;
	struct mirrored d;

	fd = test_make(&p);
	test_demand(!epf_mirror_open(fd, 3, 1, &m));
	test_insert(fd, 1, 0, 8);
	test_is(epf_mirror_follow(m), 8, "as many as it holds are followed");
	test_insert(fd, 1, 8, 9);
	test_is(epf_mirror_follow(m), -EOVERFLOW, "one more: EOVERFLOW");
	test_insert(fd, 1, 17, 1);
	test_is(epf_mirror_follow(m), -EOVERFLOW, "and so until it is renewed");
	test_demand(!epf_mirror_renew(m));
	tap_ok(mirrored_equal(fd, m, &d), "renewed it is equal");
	for (i = 0; i < 300; i++) {
		/* at times exactly as many records as fit, or one less or more */
		test_insert(fd, 2, i * 100, 6 + i % 5);
		if (epf_mirror_follow(m) == -EOVERFLOW) {
			over++;
			test_demand(!epf_mirror_renew(m));
		}
		same += mirrored_equal(fd, m, &d);
	}
	test_is(same, 300, "equal each time, renewed or not");
	tap_ok(over >= 120 && over < 300, "renewed where more came: %u times", over);
	epf_mirror_close(m);
	close(fd);
}

static __u64 inserted(void)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		sum += __atomic_load_n(&inserters[i].done, __ATOMIC_RELAXED);
	return sum;
}

/* Wait until certainly more than two records were written: batches already under way do
 * not count, one for each thread.
 */
static void let_them_overrun(void)
{
	__u64 enough = inserted() + THREADS * BATCH_MAX + 3;

	while (inserted() < enough)
		sched_yield();
}

/* Threads that overrun a ring of two records all the time. */
#define STORM_POINTS 2
static void try_storm(void)
{
	struct epf_params p = shape(1, EPF_MODE_COUNT);
	__u32 over = 0, wrong = 0, equals = 0, i;
	struct epf_mirror *m;
	struct mirrored d;
	long n;
	int ret;

	fd = test_make(&p);
	test_demand(!epf_mirror_open(fd, 1, 1, &m));
	start_inserters();
	for (i = 0; i < 400; i++) {
		if (i % 4 == 1)
			let_them_overrun();
		n = epf_mirror_follow(m);
		over += n == -EOVERFLOW;
		wrong += n < 0 && n != -EOVERFLOW;
		if (n < 0) {
			ret = epf_mirror_renew(m);
			wrong += ret && ret != -EOVERFLOW;
		}
		sched_yield();
		if (i % 8)
			continue;
		pthread_rwlock_wrlock(&resting);
		test_demand(!epf_mirror_renew(m));
		test_insert(fd, 9, i, 1);
		equals += mirrored_equal(fd, m, &d);
		pthread_rwlock_unlock(&resting);
	}
	stop_inserters();
	tap_ok(over >= 100 && !wrong, "two records, threads: overrun %u of %u times", over, i);
	test_is(equals, i / 8, "and each time it rests, equal");
	epf_mirror_close(m);
	close(fd);
}

/* ---- other contents ---- */

static long restore(int to, const struct epf_line *lines)
{
	struct epf_snap s;

	test_demand(!test_snap_begin(to, SEC, NULL) && !test_snap_end(to, &s));
	return test_restore(to, &s.header, lines);
}

#define CONTENTS_POINTS 11
static void try_contents(void)
{
	int other = test_make_plain("mod-journal-2", EPOCH * 7);
	static struct epf_line zeros[LINES];
	struct epf_params p = shape(2, EPF_MODE_COUNT);
	struct epf_mirror *m, *m2;
	struct mirrored d;

	fd = test_make(&p);
	test_insert(fd, 1, 0, 300);
	test_insert(other, 2, 0, 300);
	test_demand(!epf_mirror_open(fd, ORDER, 0, &m));
	test_demand(!epf_filter_clear(fd));
	tap_ok(mirrored_equal(fd, m, &d) && !d.set, "cleared: empty as well");
	test_insert(fd, 3, 0, 50);
	test_demand(!epf_dev_swap(test_dev, "mod-journal", "mod-journal-2"));
	test_insert(other, 3, 50, 50);
	test_is(epf_mirror_follow(m), -ESTALE, "swapped: ESTALE");
	tap_ok(!(test_info(fd).flags & EPF_INFO_JOURNAL) &&
		       !(test_info(other).flags & EPF_INFO_JOURNAL),
	       "neither has a journal any more");
	test_is(epf_mirror_open(other, ORDER, 0, &m2), 0,
		"another reader may begin with what it was");
	tap_ok(mirrored_equal(other, m2, &d) && d.set, "and has it");
	test_is(epf_mirror_renew(m), 0, "renewed");
	tap_ok(mirrored_equal(fd, m, &d) && d.set,
	       "it is equal to the new contents, of another shape");
	test_demand(!epf_dev_swap(test_dev, "mod-journal", "mod-journal-2"));
	test_demand(!epf_mirror_renew(m) && !epf_mirror_renew(m2));
	test_demand(!restore(fd, zeros));
	test_is(epf_mirror_follow(m), -ESTALE, "restored: ESTALE");
	test_demand(!epf_mirror_renew(m));
	test_insert(fd, 4, 0, 300);
	tap_ok(mirrored_equal(fd, m, &d), "renewed it is equal");
	test_demand(!test_destroy("mod-journal", EPF_DESTROY_FORCE));
	test_is(epf_mirror_follow(m), -ESTALE, "destroyed by force: ESTALE");
	test_is(epf_mirror_renew(m), -ENODEV, "renewed: ENODEV");
	epf_mirror_close(m);
	epf_mirror_close(m2);
	close(other);
	close(fd);
}

/* ---- the call and the mapping ---- */

static long begin(int f, __u32 order, __u32 shards)
{
	struct epf_journal_args a = { .size = sizeof(a), .order = order, .shards = shards };

	return test_ioctl(f, EPF_IOC_JOURNAL, &a);
}

static long end(int f)
{
	struct epf_journal_args a = { .size = sizeof(a), .flags = EPF_JOURNAL_END };

	return test_ioctl(f, EPF_IOC_JOURNAL, &a);
}

#define ARGS_POINTS 16
static void try_args(void)
{
	struct epf_params p = test_locked_params("mod-journal-ge", EPF_KIND_GE, 700);
	struct epf_shape s = locked_shape(EPF_KIND_GE);
	struct epf_journal_args a = { .size = sizeof(a), .order = 4, .shards = 3 };
	struct epf_snap snap;
	int f = test_make_plain("mod-journal", 700), g = test_open("mod-journal");
	int locked = test_make_kind(&p, &s);
	__u64 bytes = test_info(f).memory_bytes;

	test_is(begin(f, 0, 1), -EINVAL, "rings of one record: EINVAL");
	test_is(begin(f, EPF_JOURNAL_ORDER_MAX + 1, 1), -EINVAL, "2^25 records: EINVAL");
	test_is(begin(f, 4, 3), -EINVAL, "three rings: EINVAL");
	test_is(begin(f, 4, 2 * EPF_JOURNAL_SHARDS_MAX), -EINVAL, "2048 rings: EINVAL");
	test_is(begin(f, EPF_JOURNAL_ORDER_MAX, EPF_JOURNAL_SHARDS_MAX), -E2BIG, "512 GiB: E2BIG");
	test_is(end(f), -EINVAL, "END without a journal: EINVAL");
	a.shards = 1;
	a.flags = EPF_JOURNAL_END;
	test_is(test_ioctl(f, EPF_IOC_JOURNAL, &a), -EINVAL, "END with a size: EINVAL");
	a.flags = 0;
	a.serial = 1;
	test_is(test_ioctl(f, EPF_IOC_JOURNAL, &a), -EINVAL, "a serial given: EINVAL");
	test_is(begin(locked, 4, 1), -EOPNOTSUPP, "a locked kind: EOPNOTSUPP");
	test_is(test_info(f).memory_bytes, (long long)bytes, "no memory was taken");
	a.serial = 0;
	test_is(test_ioctl(f, EPF_IOC_JOURNAL, &a), 0, "a journal begins");
	test_is((long long)(test_info(f).memory_bytes - bytes), (long long)a.bytes,
		"its memory is charged");
	test_is(begin(f, 4, 1), -EBUSY, "a second: EBUSY");
	test_is(begin(g, 4, 1), -EBUSY, "of another descriptor: EBUSY");
	test_demand(!test_snap_begin(f, SEC, &snap));
	tap_ok(a.serial && snap.journal == a.serial, "BEGIN tells its serial");
	test_demand(!test_snap_end(f, &snap));
	tap_ok(snap.journal == a.serial && test_info(g).flags & EPF_INFO_JOURNAL,
	       "so END; INFO says so");
	close(locked);
	close(g);
	close(f);
}

static bool refused(int err, const void *at)
{
	return at == MAP_FAILED && errno == err;
}

static void *map(int f, size_t bytes, int prot, __u64 off)
{
	return mmap(NULL, bytes, prot, MAP_SHARED, f, (off_t)(EPF_MMAP_JOURNAL + off));
}

#define MAPPING_POINTS 10
static void try_mapping(void)
{
	int f = test_make_plain("mod-journal", 700), g = test_open("mod-journal");
	struct epf_journal_args a = { .size = sizeof(a), .order = 7, .shards = 2 };
	__u64 bytes = test_info(f).memory_bytes;
	const struct epf_journal_head *head;
	const struct epf_journal_shard *shard;
	char *at;

	tap_ok(refused(EINVAL, map(f, PAGE, PROT_READ, 0)), "without a journal: EINVAL");
	test_demand(!test_ioctl(f, EPF_IOC_JOURNAL, &a));
	tap_ok(refused(EACCES, map(f, PAGE, PROT_READ | PROT_WRITE, 0)), "to write to: EACCES");
	tap_ok(refused(EINVAL, map(f, a.bytes + PAGE, PROT_READ, 0)) &&
		       refused(EINVAL, map(f, PAGE, PROT_READ, a.bytes)) &&
		       refused(EINVAL, map(f, PAGE, PROT_READ, 1ULL << 45)),
	       "behind its end: EINVAL");
	tap_ok(refused(EINVAL, map(g, PAGE, PROT_READ, 0)), "of another descriptor: EINVAL");
	at = map(f, a.bytes, PROT_READ, 0);
	test_demand(at != MAP_FAILED);
	tap_ok(mprotect(at, a.bytes, PROT_READ | PROT_WRITE) < 0, "it cannot be made writable");
	head = (void *)at;
	shard = (void *)(at + EPF_JOURNAL_SHARD_BYTES);
	test_insert(g, 1, 0, 20);
	test_is((long long)(shard[0].next + shard[1].next), 2 * 128 + 20,
		"20 insertions are 20 records");
	test_demand(!head->over && !end(f));
	test_insert(g, 1, 20, 20);
	tap_ok(head->over && shard[0].next + shard[1].next == 2 * 128 + 20,
	       "ended, nothing is added; the mapping stays");
	test_is((long long)(test_info(g).memory_bytes - bytes), (long long)a.bytes,
		"and holds the memory");
	test_is(begin(g, 4, 1), 0, "another may begin meanwhile");
	munmap(at, a.bytes);
	close(g);
	test_is((long long)test_info(f).memory_bytes, (long long)bytes,
		"unmapped, and the other closed, all memory is back");
	close(f);
}

#define LIFE_POINTS 3
static void try_life(void)
{
	int f = test_make_plain("mod-journal", 700), i;
	struct epf_journal_args a;
	long long before = test_number("/proc/meminfo", "VmallocUsed:");
	__u64 bytes = test_info(f).memory_bytes;
	char *at;
	int g;

	for (i = 0; i < 200; i++) {
		a = (struct epf_journal_args){ .size = sizeof(a), .order = 10, .shards = 4 };
		g = test_open("mod-journal");
		test_demand(!test_ioctl(g, EPF_IOC_JOURNAL, &a));
		at = map(g, a.bytes, PROT_READ, 0);
		test_demand(at != MAP_FAILED);
		test_insert(f, 1, 0, 30);
		if (i % 3 == 0)
			test_demand(!end(g));
		if (i % 2)
			munmap(at, a.bytes);
		close(g);
		if (i % 2 == 0)
			munmap(at, a.bytes);
	}
	test_is((long long)test_info(f).memory_bytes, (long long)bytes,
		"200 journals, ended in every way: no memory is charged");
	tap_ok(test_number("/proc/meminfo", "VmallocUsed:") - before < 4096, "nor used");
	close(f);
	test_is(test_destroy("mod-journal", 0), 0, "nothing holds the filter");
}

struct beginning {
	int fd;
	long ret;
};

static void *begin_large(void *arg)
{
	struct beginning *b = arg;

	b->ret = begin(b->fd, 18, 1);
	return NULL;
}

/* Swap the filter while a journal begins, at each moment of that: mostly its memory is being
 * zeroed. The journal is of what the filter had, so it ends and does not go on in the other one.
 */
#define SWAPPED_POINTS 1
static void try_swapped(void)
{
	int other = test_make_plain("mod-journal-2", 700), goes_on = 0, i;
	struct beginning b = { .fd = test_make_plain("mod-journal", 700) };
	pthread_t thread;

	for (i = 0; i < 40; i++) {
		test_demand(!pthread_create(&thread, NULL, begin_large, &b));
		test_sleep((__u64)i * MS / 2);
		test_demand(!epf_dev_swap(test_dev, "mod-journal", "mod-journal-2"));
		pthread_join(thread, NULL);
		goes_on += (test_info(other).flags & EPF_INFO_JOURNAL) != 0;
		test_demand(!b.ret && !end(b.fd));
	}
	test_is(goes_on, 0, "swapped while a journal begins: it never goes on in the other");
	close(other);
	close(b.fd);
}

/* ---- one after another on two CPUs ---- */

/* The first insertion is in the ring that is read last, after fourteen epochs have
 * begun; so are some of an ended epoch that is retained. More than fifty epochs in all,
 * so that tags wrap.
 */
static bool by_turns(void)
{
	struct epf_params p = shape(1, EPF_MODE_COUNT);
	struct epf_mirror *m;
	struct mirrored d;
	bool same = true;
	int i;

	fd = test_make(&p);
	test_demand(!epf_mirror_open(fd, ORDER, 2, &m));
	for (i = 0; i < 4 && same; i++) {
		test_pin(1);
		test_insert(fd, 1, i * EPOCH, EPOCH);
		test_pin(0);
		test_insert(fd, 2, i * 14 * EPOCH, 12 * EPOCH);
		test_pin(1);
		test_insert(fd, 3, i * 10, 10);
		test_pin(0);
		test_insert(fd, 2, (i * 14 + 12) * EPOCH, 2 * EPOCH);
		same = mirrored_equal(fd, m, &d);
	}
	if (!same)
		mirrored_tell(&d);
	epf_mirror_close(m);
	close(fd);
	return same;
}

int main(int argc, char **argv)
{
	if (argc > 1) { /* for mirror_broken.sh */
		test_open_device();
		return !by_turns();
	}
	test_begin(1 + 9 * LAW_POINTS + ALIGNED_POINTS + OVERRUN_POINTS + STORM_POINTS +
		   CONTENTS_POINTS + ARGS_POINTS + MAPPING_POINTS + LIFE_POINTS + SWAPPED_POINTS +
		   1);
	try_args();
	try_mapping();
	try_life();
	try_swapped();
	tap_ok(by_turns(), "by turns on two CPUs: equal");
	try_overrun();
	try_storm();
	try_contents();
	law(1, EPF_MODE_COUNT, 0);
	law(1, EPF_MODE_COUNT, 1);
	law(2, EPF_MODE_COUNT, 0);
	law(4, EPF_MODE_COUNT, 2);
	law(1, EPF_MODE_TIME, 0);
	law(2, EPF_MODE_TIME, 1);
	law(4, EPF_MODE_EITHER, 0);
	law(2, EPF_MODE_BOTH, 0);
	make_aligned(2, EPOCH_NS);
	law_of(2, EPF_MODE_TIME, 0, "aligned");
	try_aligned();
	tap_ok(test_kernel_calm(), "the kernel has not complained");
	return test_end();
}
