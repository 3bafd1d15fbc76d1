// SPDX-License-Identifier: GPL-2.0
/*
 * Journals of pure BPF filters, and their tails (libepf/tail.h): what is handed out is what was
 * inserted; nothing is lost unnoticed, whatever is inserted, killed, exchanged or destroyed
 * meanwhile.
 */
#include "drive.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "ebpf/calls.h"
#include "epf.h"
#include "backend.h"
#include "rings.h"
#include "tail.h"

#define LINES 65536u
#define ORDER 14u
#define ROUNDS 64u
#define EACH 128u /* keys of a round */
#define KEYS (ROUNDS * EACH)

static const struct epf_params params = {
	.mode = EPF_MODE_COUNT,
	.nr_lines = LINES,
	.lines_per_key = 1,
	.bits_per_key = 8,
	.window_inserts = EPF_LIVE_EPOCHS * 1000000,
	.budget_ppt = EPF_RATE_ONE,
	.limit_ppt = EPF_RATE_ONE,
};

static struct drive d;
static int dev;
static __u8 seen[KEYS]; /* how often each key was handed out */
static __u64 lost, foreign;
static __u64 room[2 * KEYS];

static __u64 key_of(__u32 n)
{
	return epf_word(n + 1, 1);
}

/* The number of @digest, or KEYS. */
static __u32 number_of(__u64 digest)
{
	static __u64 table[1 << 15];
	static __u32 number[1 << 15];
	__u32 i, at;

	for (i = 0; !table[0] && i < KEYS; i++) {
		for (at = (__u32)(key_of(i) >> 49); table[at]; at = (at + 1) & 0x7fff)
			;
		table[at] = key_of(i);
		number[at] = i;
		if (i == KEYS - 1 && !table[0])
			table[0] = ~0ULL;
	}
	for (at = (__u32)(digest >> 49); table[at] && table[at] != digest; at = (at + 1) & 0x7fff)
		;
	return table[at] == digest ? number[at] : KEYS;
}

static bool insert(int filter, unsigned long cmd, __u32 first, __u32 count)
{
	__u64 digests[EACH];
	struct epf_batch b = { .size = sizeof(b) };
	__u32 i;

	for (; count; count -= b.count, first += b.count) {
		b.count = count < EACH ? count : EACH;
		for (i = 0; i < b.count; i++)
			digests[i] = key_of(first + i);
		b.keys = (__u64)(uintptr_t)digests;
		b.flags = EPF_BATCH_DIGESTS;
		b.done = b.present = 0;
		if (epf_call(filter, cmd, &b))
			return false;
	}
	return true;
}

/* Read to the end. Return: digests; or an error. */
static long read_all(struct epf_tail *t, size_t at_once)
{
	long sum = 0, n, i;

	do {
		n = epf_tail_read(t, room, at_once, &lost);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++) {
			__u32 k = number_of(room[i]);

			if (k < KEYS)
				seen[k]++;
			else
				foreign++;
		}
		sum += n;
	} while ((size_t)n == at_once);
	return sum;
}

static void forget(void)
{
	memset(seen, 0, sizeof(seen));
	lost = foreign = 0;
}

/* Were keys @first .. @first + @count - 1 handed out, @least .. @most times each? */
static bool handed(__u32 first, __u32 count, __u8 least, __u8 most)
{
	__u32 i;

	for (i = first; i < first + count; i++)
		if (seen[i] < least || seen[i] > most) {
			printf("# key %u: %u times\n", i, seen[i]);
			return false;
		}
	return true;
}

/* Begin filter @what; @tail, or NULL. Return: its descriptor; a negative errno. */
static int begin(const char *what, const struct epf_params *p, __u32 order, struct epf_tail **tail)
{
	int ret = drive_begin(&d, what, p), fd = -1;

	forget();
	if (!ret)
		ret = fd = epf_dev_filter(dev, d.name);
	if (fd >= 0 && tail)
		ret = epf_tail_open(fd, order, tail);
	if (ret >= 0)
		return fd;
	printf("# %s: %d\n", what, ret);
	if (fd >= 0)
		epf_close(fd);
	return ret;
}

static void end(int fd, struct epf_tail *t)
{
	epf_tail_end(t);
	if (fd >= 0)
		epf_close(fd);
	drive_end(&d);
}

/* ---- what is handed out ---- */

static void try_new_with(__u32 parts, unsigned long cmd, const char *what)
{
	struct epf_params p = params;
	struct epf_tail *t = NULL;
	int fd;
	bool good;

	p.lines_per_key = parts;
	fd = begin("tail-new", &p, ORDER, &t);
	good = fd >= 0 && insert(fd, cmd, 0, 1000) && read_all(t, 2 * KEYS) == 1000;
	tap_ok(good && handed(0, 1000, 1, 1) && !lost, "L = %u, %s: each key, once", parts, what);
	good = good && insert(fd, cmd, 0, 1000) && !read_all(t, 2 * KEYS);
	tap_ok(good && !lost, "L = %u, %s: no repeat in the same epoch", parts, what);
	good = good && !epf_filter_rotate(fd, 1, NULL) && insert(fd, cmd, 0, 1500) &&
	       read_all(t, 100) == 1500;
	tap_ok(good && handed(0, 1000, 2, 2) && handed(1000, 500, 1, 1) && !lost && !foreign,
	       "L = %u, %s: in the next epoch again, in small pieces", parts, what);
	end(fd, t);
}

static void try_new(void)
{
	__u32 parts;

	for (parts = 1; parts <= 4; parts *= 2) {
		try_new_with(parts, EPF_IOC_INSERT, "insert");
		try_new_with(parts, EPF_IOC_TEST_AND_INSERT, "test-and-insert");
	}
}

/* A section whose epoch ends before its compare-and-swap. */
static void try_moved(void)
{
	struct epf_tail *t = NULL;
	struct epf_journal_record rec = { 0 };
	struct epf_rings *r = NULL;
	int fd = begin("tail-moved", &params, ORDER, &t), ret = -1;
	__u32 i;
	pid_t pid;

	if (fd >= 0) {
		pid = drive_hold(&d, LAWS_HOLD_CAS);
		ret = ebpf_begin(d.filter) ?: ebpf_rotate(d.filter, now_ns());
		ebpf_end(d.filter);
		d.prog->bss->hold = 0;
		waitpid(pid, NULL, 0);
		d.prog->bss->nap_worker = ~0u;
		ret = ret ?: epf_rings_get(fd, ORDER, 0, &r);
	}
	tap_ok(!ret && read_all(t, 100) == 1 && foreign == 1 && !lost,
	       "an insertion that an end of an epoch overtakes is handed out");
	for (i = 0; r && i < r->args.shards; i++)
		if (epf_journal_get(&r->ring[i], r->ring[i].mask + 1, &rec) == 1)
			break;
	tap_ok(rec.epoch == EPF_EPOCH_FIRST + 1 &&
		       rec.more == (EPF_JOURNAL_NEW | 1ULL << (rec.epoch & 7)),
	       "its record has the epoch that holds the key");
	if (r)
		epf_rings_put(r);
	end(fd, t);
}

/* ---- many at once ---- */

static struct {
	int fd;
	unsigned int start;
	bool good;
} other;

static void *insert_too(void *arg)
{
	__u32 i;

	(void)arg;
	__atomic_store_n(&other.start, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < ROUNDS; i++)
		if (!insert(other.fd, EPF_IOC_TEST_AND_INSERT, i * EACH, EACH))
			other.good = false;
	return NULL;
}

/* Two insert the same keys at once. After each round, what had been inserted has been handed
 * out, whichever of the two set the bits.
 */
static void try_race(void)
{
	struct epf_tail *t = NULL;
	int fd = begin("tail-race", &params, ORDER, &t);
	bool good = fd >= 0, all = true;
	pthread_t thread;
	__u32 i;

	other.fd = good ? epf_dev_filter(dev, d.name) : -1;
	other.good = other.fd >= 0;
	other.start = 0;
	if (good && !pthread_create(&thread, NULL, insert_too, NULL)) {
		while (!__atomic_load_n(&other.start, __ATOMIC_SEQ_CST))
			sched_yield();
		for (i = 0; i < ROUNDS && good; i++) {
			good = insert(fd, EPF_IOC_TEST_AND_INSERT, i * EACH, EACH) &&
			       read_all(t, 2 * KEYS) >= 0;
			all = all && handed(i * EACH, EACH, 1, 2);
		}
		pthread_join(thread, NULL);
	}
	tap_ok(good && other.good && all, "two insert the same keys: what has returned is handed out");
	good = good && read_all(t, 2 * KEYS) >= 0;
	tap_ok(good && handed(0, KEYS, 1, 2) && !lost && !foreign, "and all, with nothing lost");
	if (other.fd >= 0)
		epf_close(other.fd);
	end(fd, t);
}

static void *release(void *arg)
{
	(void)arg;
	drive_sleep(50000000);
	d.prog->bss->hold = 0;
	return NULL;
}

/* A section that is under way when a read begins is over when it returns. */
static void try_wait(void)
{
	volatile __u64 *left;
	struct epf_tail *t = NULL;
	int fd = begin("tail-wait", &params, ORDER, &t);
	bool good = fd >= 0, over = false;
	pthread_t thread;
	__u64 before;
	pid_t pid;
	long n = 0;

	if (good) {
		left = &d.prog->bss->left;
		before = *left;
		pid = drive_hold(&d, LAWS_HOLD_SLOT);
		good = !pthread_create(&thread, NULL, release, NULL);
		n = read_all(t, 100);
		over = *left != before;
		d.prog->bss->hold = 0;
		waitpid(pid, NULL, 0);
		if (good)
			pthread_join(thread, NULL);
	}
	tap_ok(good && over && n == 1, "a read waits for insertions under way");
	end(fd, t);
}

/* ---- losses ---- */

static void try_overrun(void)
{
	struct epf_tail *t = NULL;
	int fd = begin("tail-over", &params, 4, &t);
	bool good = fd >= 0 && insert(fd, EPF_IOC_INSERT, 0, 1000);
	long n = good ? read_all(t, 64) : -1;

	tap_ok(n > 0 && n < 1000 && (__u64)n + lost == 1000 && !foreign,
	       "records that were overwritten are counted as lost, exactly");
	forget();
	good = n > 0 && insert(fd, EPF_IOC_INSERT, 1000, 10) && read_all(t, 64) == 10;
	tap_ok(good && handed(1000, 10, 1, 1) && !lost, "after that nothing is lost");
	end(fd, t);
}

/* Load the program again, without the map of the journal. */
static bool load_without(struct laws_bpf **prog)
{
	struct { const char *map; int fd; } maps[] = {
		{ "epf_table", d.filter->table },
		{ "epf_lines", d.filter->lines },
		{ "epf_cpus", d.filter->cpus },
	};
	size_t i;

	*prog = laws_bpf__open();
	for (i = 0; *prog && i < sizeof(maps) / sizeof(maps[0]); i++)
		if (bpf_map__reuse_fd(bpf_object__find_map_by_name((*prog)->obj, maps[i].map),
				      maps[i].fd))
			return false;
	if (!*prog || laws_bpf__load(*prog))
		return false;
	(*prog)->bss->nap_worker = ~0u;
	(*prog)->bss->window = 1;
	return true;
}

static void try_without(void)
{
	struct laws_bpf *prog = NULL;
	struct epf_tail *t = NULL;
	int fd = begin("tail-without", &params, ORDER, &t);
	bool good = fd >= 0 && load_without(&prog) &&
		    drive_run(bpf_program__fd(prog->progs.laws), 0, 300);
	long n = good ? read_all(t, 100) : -1;

	tap_ok(!n && lost == 300, "insertions of a program without the map are lost, exactly");
	forget();
	good = !n && insert(fd, EPF_IOC_INSERT, 0, 100) && read_all(t, 1000) == 100;
	tap_ok(good && !lost, "they are counted once");
	tap_ok(fd >= 0 && ((const __u32 *)d.filter->shared)[5] == 1,
	       "programs of earlier versions find the filter destroyed");
	laws_bpf__destroy(prog);
	end(fd, t);
}

/* ---- a reader that dies ---- */

/* In a process of its own: read 200 keys, of which 100 are acknowledged; then die. */
static void read_and_die(int fd, int told)
{
	static const __u64 note[EPF_TAIL_NOTE] = { 1, 2, 3, 4 };
	struct epf_tail *t;
	__u64 mark, serial;

	if (epf_tail_open(fd, ORDER, &t) || epf_tail_read(t, room, 100, &lost) != 100 ||
	    epf_tail_mark(t, &mark) || epf_tail_read(t, room, 100, &lost) != 100)
		_exit(1);
	epf_tail_acked(t, mark, note);
	memcpy(room + 200, room, sizeof(*room)); /* of those not acknowledged */
	serial = epf_tail_serial(t);
	if (write(told, &serial, sizeof(serial)) != sizeof(serial))
		_exit(1);
	pause();
	_exit(0);
}

static void try_death(void)
{
	struct epf_tail *t = NULL, *none = NULL;
	int fd = begin("tail-death", &params, ORDER, &t), ends[2] = { -1, -1 };
	__u64 note[EPF_TAIL_NOTE] = { 0 }, serial = 0;
	bool good = fd >= 0 && insert(fd, EPF_IOC_INSERT, 0, 1000) && !pipe(ends);
	long n = -1;
	pid_t pid;

	epf_tail_close(t);
	t = NULL;
	pid = good ? drive_fork() : -1;
	if (!pid)
		read_and_die(fd, ends[1]);
	if (good)
		close(ends[1]);
	good = good && read(ends[0], &serial, sizeof(serial)) == sizeof(serial);
	tap_ok(good && epf_tail_open(fd, ORDER, &none) == -EBUSY, "a journal has one reader");
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	good = good && insert(fd, EPF_IOC_INSERT, 1000, 50) && !epf_tail_open(fd, 4, &t);
	tap_ok(good && epf_tail_serial(t) == serial, "one that was killed has left it to the next");
	if (good) {
		epf_tail_note(t, note);
		n = read_all(t, 2 * KEYS);
	}
	tap_ok(n == 950 && !lost && handed(0, 1050, 0, 1) && handed(1000, 50, 1, 1),
	       "which gets all that was not acknowledged");
	tap_ok(note[0] == 1 && note[3] == 4, "and the note");
	close(ends[0]);
	end(fd, t);
}

/* ---- other contents ---- */

/* Read once and renew. */
static bool stale(struct epf_tail *t, int fd)
{
	long n = epf_tail_read(t, room, 2 * KEYS, &lost);
	int ret;

	if (n != -ESTALE || epf_tail_read(t, room, 2 * KEYS, &lost) != -ESTALE) {
		printf("# read: %ld\n", n);
		return false;
	}
	ret = epf_tail_renew(t);
	forget();
	if (ret || !insert(fd, EPF_IOC_INSERT, 7000, 20) || read_all(t, 2 * KEYS) < 20) {
		printf("# renewal: %d\n", ret);
		return false;
	}
	return !lost && handed(7000, 20, 1, 1);
}

static int restore_self(void)
{
	struct epf_snap snap = { .size = sizeof(snap), .pin_ns = EPF_PIN_MAX_NS };
	struct epf_restore r = { 0 };
	struct epf_lanes lanes;
	int ret = ebpf_snap_begin(d.filter, &snap) ?: ebpf_lines(d.filter, &lanes);

	if (ret)
		return ret;
	r.lines = (__u64)(uintptr_t)malloc(d.filter->line_bytes);
	memset((void *)(uintptr_t)r.lines, 0, d.filter->line_bytes);
	snap.pin_ns = 0;
	ret = ebpf_snap_end(d.filter, &snap);
	r.header = snap.header;
	r.desc = snap.desc;
	ret = ret ?: ebpf_restore(d.filter, &r);
	free((void *)(uintptr_t)r.lines);
	return ret;
}

static void try_stale(void)
{
	struct epf_tail *t = NULL;
	int fd = begin("tail-stale", &params, ORDER, &t), fd_b = -1;
	struct epf_tail *b = NULL;
	char name[EPF_NAME_LEN];
	bool good;

	drive_name(name, "tail-other");
	good = fd >= 0 && !drive_create(name, &params) && (fd_b = epf_dev_filter(dev, name)) >= 0 &&
	       !epf_tail_open(fd_b, ORDER, &b) && insert(fd, EPF_IOC_INSERT, 0, 10);
	good = good && !epf_dev_swap(dev, d.name, name);
	tap_ok(good && stale(t, fd) && stale(b, fd_b), "a swap ends the journals of both filters");
	good = good && insert(fd, EPF_IOC_INSERT, 100, 10) && !restore_self();
	tap_ok(good && stale(t, fd), "a restore ends the journal");
	good = good && !ebpf_destroy(name, true);
	tap_ok(good && epf_tail_read(b, room, 10, &lost) == -ESTALE && epf_tail_renew(b) < 0 &&
		       epf_tail_read(b, room, 10, &lost) == -ESTALE,
	       "so does destruction, and there is no other");
	epf_tail_end(b);
	if (fd_b >= 0)
		epf_close(fd_b);
	end(fd, t);
	ebpf_destroy(name, true);
}

/* ---- the call ---- */

static int call(int fd, __u32 flags, __u32 order, __u32 shards)
{
	struct epf_journal_args a = {
		.size = sizeof(a), .flags = flags, .order = order, .shards = shards
	};

	return epf_call(fd, EPF_IOC_JOURNAL, &a);
}

static bool on(int fd)
{
	struct epf_info info = { .size = sizeof(info) };

	return !epf_filter_info(fd, &info) && info.flags & EPF_INFO_JOURNAL;
}

static void try_call(void)
{
	int fd = begin("tail-call", &params, 0, NULL);

	tap_ok(call(fd, 0, 0, 1) == -EINVAL && call(fd, 0, 25, 1) == -EINVAL &&
		       call(fd, 0, 4, 3) == -EINVAL && call(fd, 0, 4, 2048) == -EINVAL &&
		       call(fd, 4, 0, 0) == -EINVAL && call(fd, 3, 0, 0) == -EINVAL &&
		       call(fd, EPF_JOURNAL_END, 4, 0) == -EINVAL &&
		       call(fd, EPF_JOURNAL_END, 0, 0) == -EINVAL &&
		       call(fd, EPF_JOURNAL_SYNC, 0, 0) == -EINVAL,
	       "EINVAL: numbers out of range, flags, no journal");
	tap_ok(call(fd, 0, 24, 1024) == -E2BIG, "E2BIG: 512 GiB");
	tap_ok(!on(fd) && !call(fd, 0, 4, 1) && on(fd) && call(fd, 0, 4, 1) == -EBUSY,
	       "EBUSY: a second one of the same descriptor");
	tap_ok(!call(fd, EPF_JOURNAL_SYNC, 0, 0) && !call(fd, EPF_JOURNAL_END, 0, 0) && !on(fd) &&
		       !call(fd, 0, 4, 1) && on(fd),
	       "it ends, and begins again");
	end(fd, NULL);
}

static const struct drive_part parts[] = {
	{ "new", 18, try_new },	    { "moved", 2, try_moved },	  { "race", 2, try_race },
	{ "wait", 1, try_wait },    { "overrun", 2, try_overrun }, { "without", 3, try_without },
	{ "death", 4, try_death },  { "stale", 3, try_stale },	  { "call", 4, try_call },
};

/* usage: tail [PART] */
int main(int argc, char **argv)
{
	if (!drive_possible())
		return TAP_SKIPPED;
	ebpf_backend_add();
	dev = epf_backend_open_of(EPF_BACKEND_OTHER);
	return drive_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
}
