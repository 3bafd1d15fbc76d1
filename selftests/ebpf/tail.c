// SPDX-License-Identifier: GPL-2.0
/*
 * Journals of pure BPF filters, and their tails (libepf/tail.h): what is handed out is what was
 * inserted; nothing is lost unnoticed, whatever is inserted, killed, exchanged or destroyed
 * meanwhile.
 */
#include "drive.h"
#include "../tailed.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "ebpf/calls.h"
#include "rings.h"

#define LINES 65536u
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
/* Begin filter @what; @tail, or NULL. Return: its descriptor; a negative errno. */
static int begin(const char *what, const struct epf_params *p, __u32 order, struct epf_tail **tail)
{
	int ret = drive_begin(&d, what, p), fd = -1;

	tailed_forget();
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

	p.lines_per_key = parts;
	fd = begin("tail-new", &p, ORDER, &t);
	tailed_new(fd, t, parts, cmd, what);
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
	tap_ok(!ret && tailed_read_all(t, 100) == 1 && foreign == 1 && !lost,
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

static void try_race(void)
{
	struct epf_tail *t = NULL;
	int fd = begin("tail-race", &params, ORDER, &t);
	int other = fd < 0 ? -1 : epf_dev_filter(dev, d.name);

	tailed_race(fd, other, t);
	if (other >= 0)
		epf_close(other);
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
		n = tailed_read_all(t, 100);
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

	tailed_overrun(fd, t);
	end(fd, t);
}

/* Load the program again, without the map of the journal. */
static bool load_without(struct laws_bpf **prog)
{
	struct {
		const char *map;
		int fd;
	} maps[] = {
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
	long n = good ? tailed_read_all(t, 100) : -1;

	tap_ok(!n && lost == 300, "insertions of a program without the map are lost, exactly");
	tailed_forget();
	good = !n && tailed_insert(fd, EPF_IOC_INSERT, 0, 100) && tailed_read_all(t, 1000) == 100;
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
	bool good = fd >= 0 && tailed_insert(fd, EPF_IOC_INSERT, 0, 1000) && !pipe(ends);
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
	good = good && tailed_insert(fd, EPF_IOC_INSERT, 1000, 50) && !epf_tail_open(fd, 4, &t);
	tap_ok(good && epf_tail_serial(t) == serial, "one that was killed has left it to the next");
	if (good) {
		epf_tail_note(t, note);
		n = tailed_read_all(t, 2 * KEYS);
	}
	tap_ok(n == 950 && !lost && tailed_handed(0, 1050, 0, 1) && tailed_handed(1000, 50, 1, 1),
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
	tailed_forget();
	if (ret)
		printf("# renewal: %d\n", ret);
	return !ret && tailed_insert(fd, EPF_IOC_INSERT, 7000, 20) &&
	       tailed_read_all(t, 2 * KEYS) >= 20 && !lost && tailed_handed(7000, 20, 1, 1);
}

static void try_stale(void)
{
	struct epf_tail *t = NULL;
	int fd = begin("tail-stale", &params, ORDER, &t), fd_b = -1;
	struct epf_rings *old = NULL; /* of another reader in this process */
	struct epf_tail *b = NULL;
	char name[EPF_NAME_LEN];
	bool good;

	drive_name(name, "tail-other");
	good = fd >= 0 && !drive_create(name, &params) && (fd_b = epf_dev_filter(dev, name)) >= 0 &&
	       !epf_tail_open(fd_b, ORDER, &b) && tailed_insert(fd, EPF_IOC_INSERT, 0, 10);
	good = good && !epf_rings_get(fd, ORDER, 0, &old) && !epf_dev_swap(dev, d.name, name);
	tap_ok(good && stale(t, fd) && stale(b, fd_b), "a swap ends the journals of both filters");
	good = good && tailed_insert(fd, EPF_IOC_INSERT, 100, 10) && !drive_restore(&d);
	tap_ok(good && stale(t, fd), "a restore ends the journal");
	tap_ok(good && epf_rings_over(old), "another reader of the first one still sees its end");
	if (old)
		epf_rings_put(old);
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
	tap_ok(call(fd, 0, 24, 16) == -E2BIG && call(fd, 0, 24, 1024) == -E2BIG,
	       "E2BIG: 8 GiB and the heads of rings, 512 GiB");
	tap_ok(!on(fd) && !call(fd, 0, 4, 1) && on(fd) && call(fd, 0, 4, 1) == -EBUSY,
	       "EBUSY: a second one of the same descriptor");
	tap_ok(!call(fd, EPF_JOURNAL_SYNC, 0, 0) && !call(fd, EPF_JOURNAL_END, 0, 0) && !on(fd) &&
		       !call(fd, 0, 4, 1) && on(fd),
	       "it ends, and begins again");
	end(fd, NULL);
}

static const struct drive_part parts[] = {
	{ "new", 6 * TAILED_NEW, try_new },
	{ "moved", 2, try_moved },
	{ "race", TAILED_RACE, try_race },
	{ "wait", 1, try_wait },
	{ "overrun", TAILED_OVERRUN, try_overrun },
	{ "without", 3, try_without },
	{ "death", 4, try_death },
	{ "stale", 4, try_stale },
	{ "call", 4, try_call },
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
