// SPDX-License-Identifier: GPL-2.0
/*
 * Unfinished snapshots and journals: calls refused meanwhile leave no reference and no
 * pin behind; an expired pin blocks nothing, nor does that of a process that was killed; a
 * pin that ends early releases a rotation at once; if two threads rotate, both are told
 * of a snapshot that began and ended while one of them slept; and a new epoch has nothing of
 * the one whose memory it takes.
 */
#include "epftest.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../locked.h"

#define LIMIT "/sys/module/epochfilter/parameters/max_total_mib"
#define LINES (3 << 20 >> 6) /* 3 MiB: two such filters exceed 5 MiB */
#define EPOCH 100
#define WINDOW (7 * EPOCH)

static long journal(int fd)
{
	struct epf_journal_args j = { .size = sizeof(j), .order = 4 };

	return test_ioctl(fd, EPF_IOC_JOURNAL, &j);
}

static long rotate(int fd, __u32 count)
{
	struct epf_rotate_args r = { .size = sizeof(r), .count = count };

	return test_ioctl(fd, EPF_IOC_ROTATE, &r);
}

/* -------------------------------------------------- refused, half done ---- */

/* Restore an empty snapshot of the filter's own shape. */
static long restore(int fd, const struct epf_snap *s, __u32 version)
{
	struct epf_snap_header header = s->header;
	void *lines = calloc(LINES, 64);
	long ret;

	test_demand(lines);
	header.version = version;
	ret = test_restore(fd, &header, lines);
	free(lines);
	return ret;
}

/* Leave something of @fd unfinished, and have another call refused. Return: was exactly
 * that refused, without other errors?
 */
static bool begin_twice(int fd, int other)
{
	struct epf_snap s;

	return !test_snap_begin(fd, SEC, &s) && test_snap_begin(fd, SEC, &s) == -EBUSY;
}

static bool begin_beside(int fd, int other)
{
	struct epf_snap s;

	return !test_snap_begin(fd, 60 * SEC, &s) && test_snap_begin(other, SEC, &s) == -EBUSY;
}

static bool begin_restore_begin(int fd, int other)
{
	struct epf_snap s;

	return !test_snap_begin(fd, 60 * SEC, &s) && !restore(other, &s, EPF_SNAP_VERSION) &&
	       test_snap_begin(fd, 60 * SEC, &s) == -EBUSY && !test_pinned(fd) && !rotate(fd, 1);
}

static bool begin_swap_begin(int fd, int other)
{
	struct epf_params p = test_params("mod-pins-2", 64, 1, 8, WINDOW);
	struct epf_snap s;
	int second = test_make(&p);
	bool good;

	good = !test_snap_begin(fd, 60 * SEC, &s) &&
	       !epf_dev_swap(test_dev, "mod-pins", "mod-pins-2") &&
	       test_snap_begin(fd, 60 * SEC, &s) == -EBUSY && !test_pinned(fd) &&
	       test_pinned(second) && !rotate(fd, 1);
	test_demand(!epf_dev_swap(test_dev, "mod-pins", "mod-pins-2"));
	close(second);
	return good;
}

static bool restore_refused(int fd, int other)
{
	struct epf_snap s;

	return !test_snap_begin(fd, 60 * SEC, &s) &&
	       restore(other, &s, EPF_SNAP_VERSION + 1) == -EBADMSG && test_pinned(fd);
}

static bool begin_untold(int fd, int other)
{
	struct epf_snap *s = test_guarded(1);

	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	s->pin_ns = 60 * SEC;
	test_demand(!mprotect(s, PAGE, PROT_READ));
	return test_ioctl(fd, EPF_IOC_SNAP_BEGIN, s) == -EFAULT && !test_pinned(fd) &&
	       !munmap(s, 2 * PAGE);
}

static bool journal_twice(int fd, int other)
{
	return !journal(fd) && journal(fd) == -EBUSY && journal(other) == -EBUSY;
}

static bool journal_restore_journal(int fd, int other)
{
	struct epf_snap s;

	return !journal(fd) && !test_snap_begin(fd, 60 * SEC, &s) &&
	       !restore(other, &s, EPF_SNAP_VERSION) && journal(fd) == -EBUSY && !journal(other) &&
	       test_info(fd).flags & EPF_INFO_JOURNAL;
}

static bool mapped_restore_forced(int fd, int other)
{
	struct epf_snap s;
	void *at;

	if (journal(fd) || test_snap_begin(fd, 60 * SEC, &s))
		return false;
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return at != MAP_FAILED && !restore(other, &s, EPF_SNAP_VERSION) &&
	       !test_destroy("mod-pins", EPF_DESTROY_FORCE) &&
	       test_snap_begin(fd, SEC, &s) == -ENODEV && journal(fd) < 0 &&
	       rotate(other, 1) == -ENODEV && !munmap(at, PAGE);
}

static const struct {
	bool (*fn)(int fd, int other);
	const char *what;
	bool gone;
} refused[] = {
	{ begin_twice, "a snapshot begun twice", false },
	{ begin_beside, "one begun beside another", false },
	{ begin_restore_begin, "begun, restored, begun again", false },
	{ begin_swap_begin, "begun, swapped, begun again", false },
	{ restore_refused, "a restore refused during one", false },
	{ begin_untold, "one whose result cannot be told", false },
	{ journal_twice, "a journal begun twice, and beside another", false },
	{ journal_restore_journal, "begun, restored, begun again", false },
	{ mapped_restore_forced, "journal, snapshot, mapping, restored, destroyed by force", true },
};

/* Only descriptors hold the filter. When they are closed, its memory is freed: there is
 * no room for two.
 */
static void try_refused(__u32 i)
{
	struct epf_params p = test_params("mod-pins", LINES, 1, 8, WINDOW);
	long long limit = test_number(LIMIT, "");
	char text[32];
	int fd = test_make(&p), other = test_open("mod-pins");
	bool good = refused[i].fn(fd, other), held;

	held = refused[i].gone || test_info(fd).users == 2;
	close(fd);
	close(other);
	test_demand(test_destroy("mod-pins", 0) == (refused[i].gone ? -ENOENT : 0));
	test_destroy("mod-pins-2", 0);
	test_demand(!test_write(LIMIT, "5"));
	good = good && held;
	fd = epf_dev_create(test_dev, &p, test_key, NULL);
	snprintf(text, sizeof(text), "%lld", limit);
	test_demand(!test_write(LIMIT, text));
	test_destroy("mod-pins", 0);
	tap_ok(good && !fd, "%s: refused, and nothing stays behind%s%s", refused[i].what,
	       held ? "" : ": users", fd ? ": memory" : "");
}

/* ------------------------------------------------------ time that is over ---- */

/* The snapshot of @first, with a pin of 1 ms, is not ended when @second begins. */
static void expired(int first, int second, const char *what)
{
	struct epf_snap s;
	bool begun, stays;

	test_demand(!test_snap_begin(first, MS, &s) && test_wait(test_unpinned, &first));
	begun = !test_snap_begin(second, 60 * SEC, &s);
	tap_ok(begun, "%s: when a snapshot's time is over another may begin", what);
	test_snap_end(first, &s);
	stays = begun && test_pinned(first);
	tap_ok(stays, "%s: and is held when the first one ends", what);
	test_snap_end(second, &s);
	test_is(test_pinned(first), false, "%s: until it ends itself", what);
}

/* ------------------------------------------------------- of killed processes ---- */

/* A process of its own begins a snapshot of @name, maps the lines if there are any, says so
 * through @told, and waits.
 */
static pid_t begin_elsewhere(const char *name, int told)
{
	struct epf_snap s;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = test_open(name);
	if (fd < 0 || test_snap_begin(fd, 60 * SEC, &s))
		_exit(1);
	mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (write(told, "", 1) == 1)
		pause();
	_exit(1);
}

/* @fd: another descriptor of filter @name */
static void killed(int fd, const char *name, const char *what)
{
	bool held, begun;
	struct epf_snap s;
	int told[2];
	pid_t pid;
	char byte;

	test_demand(!pipe(told));
	pid = begin_elsewhere(name, told[1]);
	close(told[1]);
	test_demand(pid > 0 && read(told[0], &byte, 1) == 1);
	close(told[0]);
	held = test_pinned(fd) && test_snap_begin(fd, 60 * SEC, &s) == -EBUSY;
	test_demand(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	held = held && !test_pinned(fd) && test_info(fd).users == 2;
	begun = !test_snap_begin(fd, 60 * SEC, &s);
	if (begun)
		test_snap_end(fd, &s);
	tap_ok(held && begun, "%s: the snapshot of a process that was killed is over at once",
	       what);
}

/* Has the worker run in the current epoch since the filter has keys? */
static bool looked(void *fd)
{
	return test_info(*(int *)fd).epochs[0].fill_ppt;
}

/* The rotation is overdue because of a snapshot of 60 s, and the worker has noticed it.
 * The snapshot's end must start the rotation, or else it comes only after that time. If
 * this machine stalled for that long, the snapshot is ended once more.
 */
static void early(int fd, const char *what)
{
	struct epf_snap s;
	bool good = false;
	__u64 until, e;
	int i;

	for (i = 0; i < 3 && !good; i++) {
		test_demand(!test_snap_begin(fd, 60 * SEC, &s));
		until = s.now_ns + 55 * SEC;
		e = test_info(fd).epoch;
		test_insert(fd, 1, 0, EPOCH);
		test_demand(test_wait(looked, &fd));
		test_sleep(100 * MS); /* the pin says when it expires */
		test_demand(test_info(fd).epoch == e);
		test_snap_end(fd, &s);
		while (!good && test_now() < until)
			good = test_info(fd).epoch > e;
	}
	tap_ok(good, "%s: a late rotation goes when the snapshot ends early", what);
}

/* ----------------------------------------- of the current epoch, exactly ---- */

#define SOME 37

static void current_count(int fd, const char *what)
{
	struct epf_info info;
	struct epf_snap s;

	test_demand(!rotate(fd, 1));
	test_insert(fd, 2, 0, SOME);
	info = test_info(fd);
	test_demand(!test_snap_begin(fd, SEC, &s));
	test_demand(!test_snap_end(fd, &s));
	test_is(s.header.epochs[s.header.epoch_end & 7].inserts, SOME,
		"%s: a snapshot counts the keys of the current epoch", what);
	test_is(info.epochs[0].inserts, SOME, "%s: as INFO does", what);
}

/* A restored epoch continues its count: it is no longer than others. */
static void restored_count(int fd, const char *what)
{
	struct epf_snap_file file;
	struct epf_info info;
	__u64 e;

	test_demand(!rotate(fd, 1));
	test_insert(fd, 3, 0, SOME);
	test_demand(!epf_snap_copy(fd, &file, NULL, NULL));
	test_demand(!epf_snap_restore(fd, &file));
	epf_snap_close(&file);
	info = test_info(fd);
	e = info.epoch;
	test_is((long long)info.epochs[0].inserts, SOME,
		"%s: restored, the current epoch has as many keys", what);
	test_insert(fd, 3, SOME, EPOCH - SOME - 1);
	test_demand(test_info(fd).epoch == e);
	test_insert(fd, 3, EPOCH, 1);
	tap_ok(test_wait_epoch(fd, e + 1), "%s: and ends with as many more", what);
}

/* ------------------------------------------------------- two who end epochs ---- */

/**
 * struct ender - a thread that ends epochs
 * @fd: descriptor
 * @count: number of epochs to end
 * @cpu: its CPU, where it runs at real-time priority
 * @tid: its thread id; 0: not begun
 * @ret: result of the call
 * @done: it has returned
 */
struct ender {
	int fd;
	__u32 count;
	int cpu;
	pid_t tid;
	long ret;
	bool done;
};

static bool run_at(pid_t tid, int cpu, int priority)
{
	struct sched_param p = { .sched_priority = priority };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(tid, sizeof(set), &set) &&
	       !sched_setscheduler(tid, priority ? SCHED_FIFO : SCHED_OTHER, &p);
}

static void *end_epochs(void *arg)
{
	struct ender *e = arg;

	run_at(0, e->cpu, 1);
	__atomic_store_n(&e->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	e->ret = rotate(e->fd, e->count);
	__atomic_store_n(&e->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool busy_end;

/* Keep the other CPU for threads of this real-time priority. */
static void *be_busy(void *arg)
{
	pid_t *tid = arg;

	run_at(0, 1, 1);
	__atomic_store_n(tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&busy_end, __ATOMIC_ACQUIRE))
		sched_yield();
	return NULL;
}

static bool sleeps(pid_t tid)
{
	char path[64], text[256] = "";
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return false; /* it has ended */
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	return n && strstr(text, ") S");
}

static void yield_until_asleep(struct ender *e)
{
	while (!__atomic_load_n(&e->tid, __ATOMIC_ACQUIRE))
		sched_yield();
	while (!__atomic_load_n(&e->done, __ATOMIC_ACQUIRE) && !sleeps(e->tid))
		sched_yield();
}

static bool is_done(void *arg)
{
	const struct ender *e = arg;

	return __atomic_load_n(&e->done, __ATOMIC_ACQUIRE);
}

/* The worker cannot run, because both CPUs have real-time threads. Both rotating
 * threads wait when the snapshot begins; the second one, on the other CPU, checks only
 * after it has ended. If the worker runs earlier, both succeed.
 */
static void two_enders(int fd)
{
	struct ender e[2] = { { .fd = fd, .count = 8, .cpu = 0 },
			      { .fd = fd, .count = 8, .cpu = 1 } };
	pthread_t thread[3];
	struct epf_snap s;
	pid_t busy = 0;
	bool both;
	int i;

	__atomic_store_n(&busy_end, false, __ATOMIC_RELEASE);
	test_demand(!pthread_create(&thread[2], NULL, be_busy, &busy));
	while (!__atomic_load_n(&busy, __ATOMIC_ACQUIRE))
		sched_yield();
	test_demand(run_at(0, 0, 1));
	for (i = 0; i < 2; i++) {
		test_demand(!pthread_create(&thread[i], NULL, end_epochs, &e[i]));
		yield_until_asleep(&e[i]);
	}
	run_at(busy, 1, 99);
	test_demand(!test_snap_begin(fd, 60 * SEC, &s));
	while (!is_done(&e[0]))
		sched_yield();
	test_snap_end(fd, &s);
	__atomic_store_n(&busy_end, true, __ATOMIC_RELEASE);
	run_at(0, 0, 0);
	both = test_wait(is_done, &e[1]);
	tap_ok(both, "two threads rotate, and one sleeps through a snapshot: both return: %ld, %ld",
	       e[0].ret, e[1].ret);
	if (!both)
		exit(1); /* it waits for ever */
	tap_ok((!e[0].ret || e[0].ret == -EBUSY) && (!e[1].ret || e[1].ret == -EBUSY),
	       "with EBUSY, or with their epochs ended");
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

/* Wait until the scan has done all that was due when the current epoch began. @info: set then.
 * Return: was an epoch without keys ever shown with some?
 */
static bool scan_ends(int fd, struct epf_info *info)
{
	bool old = false;

	do {
		test_sleep(MS / 10);
		*info = test_info(fd);
		old |= !info->epochs[0].inserts && info->epochs[0].fill_ppt;
	} while (info->stats.scanned <
		 (info->epoch - EPF_EPOCH_FIRST) * info->params.nr_lines / EPF_SCAN_CHUNKS);
	return old;
}

#define WORKERS "/sys/devices/virtual/workqueue/cpumask"

/* The last key of an epoch comes when the scan has ended, so that the epoch ends while the worker
 * samples: it has to share a CPU with this thread, since emulated CPUs take turns, and lets it go
 * first. When that sample is stored, the lane of the current epoch is in it with the keys it had
 * before.
 */
static void current_fill(void)
{
	struct epf_params p = test_params("mod-pins-f", 65536, 4, 12, WINDOW);
	int fd = test_make(&p), i, old = 0, empty = 0;
	FILE *file = fopen(WORKERS, "re");
	char mask[128] = "";
	struct epf_info info;

	test_demand(file && fgets(mask, sizeof(mask), file) && !fclose(file));
	test_demand(!test_write(WORKERS, "1") && run_at(0, 0, 1));
	for (i = 0; i < 40; i++) {
		test_insert(fd, 4, (__u64)i * 2 * EPOCH, 2 * EPOCH - 1);
		scan_ends(fd, &info);
		test_insert(fd, 4, ((__u64)i * 2 + 2) * EPOCH - 1, 1);
		old += scan_ends(fd, &info);
		empty += !info.epochs[0].inserts;
	}
	test_demand(!test_write(WORKERS, mask) && run_at(0, 0, 0));
	tap_ok(empty > 20 && !old, "of %d epochs without keys %d show those of an old one", empty,
	       old);
	close(fd);
}

/* No worker runs, as in two_enders(). An overdue epoch ends before the next snapshot begins. */
static void back_to_back(int fd)
{
	pthread_t thread;
	struct epf_snap s;
	pid_t busy = 0;
	__u64 e, begun;

	test_demand(!test_snap_begin(fd, 60 * SEC, &s));
	e = test_info(fd).epoch;
	test_insert(fd, 5, 0, EPOCH);
	test_demand(test_wait(looked, &fd));
	__atomic_store_n(&busy_end, false, __ATOMIC_RELEASE);
	test_demand(!pthread_create(&thread, NULL, be_busy, &busy));
	while (!__atomic_load_n(&busy, __ATOMIC_ACQUIRE))
		sched_yield();
	test_demand(run_at(0, 0, 1));
	test_demand(!test_snap_end(fd, &s) && !test_snap_begin(fd, 60 * SEC, &s));
	begun = s.header.epoch_begin;
	run_at(0, 0, 0);
	__atomic_store_n(&busy_end, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	test_demand(!test_snap_end(fd, &s));
	test_is((long long)(begun - e), 1, "a late rotation goes before the next snapshot begins");
}

#define THROTTLE "/proc/sys/kernel/sched_rt_runtime_us"
static void try_two_enders(int lanes, int fd)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		test_skip("two who end epochs", "one CPU");
		test_skip("and return", "one CPU");
		test_skip("snapshots back to back", "one CPU");
		return;
	}
	test_write(THROTTLE, "-1");
	test_write("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0");
	test_write("/sys/kernel/debug/sched/fair_server/cpu1/runtime", "0");
	two_enders(fd);
	back_to_back(lanes);
	test_write(THROTTLE, "950000");
}

int main(void)
{
	struct epf_shape shape = locked_shape(EPF_KIND_GE);
	struct epf_params p = test_params("mod-pins-l", 1024, 2, 10, WINDOW);
	struct epf_params o = test_locked_params("mod-pins-o", EPF_KIND_GE, EPOCH);
	int lanes, again, locked, locked_again;
	__u32 i;

	test_begin((int)ARRAY_LEN(refused) + 2 * 3 + 2 + 2 + 2 * 2 + 2 * 2 + 1 + 3);
	for (i = 0; i < ARRAY_LEN(refused); i++)
		try_refused(i);
	o.window_inserts = (__u64)EPOCH * locked_epochs(EPF_KIND_GE, &shape);
	lanes = test_make(&p);
	again = test_open("mod-pins-l");
	locked = test_make_kind(&o, &shape);
	locked_again = test_open("mod-pins-o");
	expired(lanes, again, "lanes");
	expired(locked, locked_again, "ge");
	killed(lanes, "mod-pins-l", "lanes");
	killed(locked, "mod-pins-o", "ge");
	early(lanes, "lanes");
	early(locked, "ge");
	current_count(lanes, "lanes");
	current_count(locked, "ge");
	restored_count(lanes, "lanes");
	restored_count(locked, "ge");
	current_fill();
	try_two_enders(lanes, locked);
	return test_end();
}
