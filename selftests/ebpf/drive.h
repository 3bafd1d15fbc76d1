/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of pure BPF filters share: a filter, and the program laws.bpf.c on it. */
#ifndef EPF_DRIVE_H
#define EPF_DRIVE_H

#include <sched.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ebpf/calls.h"
#include "laws.h"
#include "laws.skel.h"
#include "tap.h"

/**
 * struct drive - a filter and the program on it
 * @name: name of the filter
 * @filter: the open filter
 * @prog: the program, with its variables
 * @laws: descriptor of the program that inserts and checks
 * @absent: descriptor of the program that looks up keys never inserted
 */
struct drive {
	char name[EPF_NAME_LEN];
	struct ebpf_filter *filter;
	struct laws_bpf *prog;
	int laws, absent;
};

#define DRIVE_PREFIX "epftest-"

static inline void drive_name(char name[EPF_NAME_LEN], const char *what)
{
	snprintf(name, EPF_NAME_LEN, DRIVE_PREFIX "%s-%d", what, getpid());
}

/* Remove filters of killed tests, whose process no longer exists (sweep.py). */
static inline void drive_sweep(void)
{
	char **names;
	int nr = ebpf_pins_list(&names), i;

	for (i = 0; i < nr; i++) {
		const char *pid = strrchr(names[i], '-');

		if (!strncmp(names[i], DRIVE_PREFIX, strlen(DRIVE_PREFIX)) &&
		    kill(atoi(pid + 1), 0) && errno == ESRCH)
			ebpf_destroy(names[i], true);
		free(names[i]);
	}
	free(names);
}

static inline int drive_create_flags(const char *name, const struct epf_params *p, __u32 flags)
{
	struct epf_create c = { .params = *p, .flags = flags };

	strcpy(c.params.name, name);
	return ebpf_create(&c, &c.id);
}

static inline int drive_create(const char *name, const struct epf_params *p)
{
	return drive_create_flags(name, p, 0);
}

static inline int drive_load(struct drive *d)
{
	int ret;

	d->prog = laws_bpf__open();
	if (!d->prog)
		return -errno;
	ret = ebpf_reuse_maps(d->prog->obj, d->name) ?: laws_bpf__load(d->prog);
	if (ret)
		return ret;
	d->prog->bss->nap_worker = ~0u;
	d->laws = bpf_program__fd(d->prog->progs.laws);
	d->absent = bpf_program__fd(d->prog->progs.laws_absent);
	return ebpf_open(d->name, &d->filter);
}

static inline int drive_begin_flags(struct drive *d, const char *what, const struct epf_params *p,
				    __u32 flags)
{
	memset(d, 0, sizeof(*d));
	drive_name(d->name, what);
	return drive_create_flags(d->name, p, flags) ?: drive_load(d);
}

static inline int drive_begin(struct drive *d, const char *what, const struct epf_params *p)
{
	return drive_begin_flags(d, what, p, 0);
}

/* As drive_begin_flags(), for laws.bpf.c; a failure is reported. */
static inline bool drive_start(struct drive *d, const char *what, const struct epf_params *p,
			       __u32 flags)
{
	int ret = drive_begin_flags(d, what, p, flags);

	if (ret)
		printf("# %s: %d\n", what, ret);
	else
		d->prog->bss->window = p->window_inserts ?: 1;
	return !ret;
}

/* Return: parameters with epochs of @length insertions. */
static inline struct epf_params drive_params(__u64 lines, __u64 length, __u64 limit)
{
	return (struct epf_params){
		.mode = EPF_MODE_COUNT,
		.nr_lines = lines,
		.lines_per_key = 1,
		.bits_per_key = 4,
		.window_inserts = EPF_LIVE_EPOCHS * length,
		.budget_ppt = limit,
		.limit_ppt = limit,
	};
}

/* Restore its own snapshot, with lines that are empty. */
static inline int drive_restore(struct drive *d)
{
	struct epf_snap snap = { .size = sizeof(snap), .pin_ns = EPF_PIN_MAX_NS };
	struct epf_restore r = { 0 };
	struct epf_lanes lanes;
	int ret = ebpf_snap_begin(d->filter, &snap) ?: ebpf_lines(d->filter, &lanes);

	if (ret)
		return ret;
	r.lines = (__u64)(uintptr_t)calloc(1, d->filter->line_bytes);
	snap.pin_ns = 0;
	ret = ebpf_snap_end(d->filter, &snap);
	r.header = snap.header;
	r.desc = snap.desc;
	ret = ret ?: ebpf_restore(d->filter, &r);
	free((void *)(uintptr_t)r.lines);
	return ret;
}

/* Swap with the filter @other. */
static inline bool drive_swap(const struct drive *d, const char *other)
{
	struct epf_swap a = { 0 };

	strcpy(a.a.name, d->name);
	strcpy(a.b.name, other);
	return !ebpf_swap(&a);
}

static inline void drive_end(struct drive *d)
{
	if (d->filter)
		ebpf_close(d->filter);
	laws_bpf__destroy(d->prog);
	ebpf_destroy(d->name, true);
}

/* Run @packets in a row, each in a run of its own: a run with repetitions waits for two
 * grace periods, of XDP's dispatcher.
 */
static inline bool drive_run(int prog, __u32 worker, __u32 packets)
{
	__u32 packet[16] = { worker };
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 1);
	__u32 i;

	for (i = 0; i < packets; i++)
		while (bpf_prog_test_run_opts(prog, &t))
			if (errno != EINTR && errno != EAGAIN)
				return false;
	return t.retval == 2; /* XDP_PASS */
}

/* Return: how many of 2^16 keys that were never inserted are reported present. */
static inline __u64 drive_absent(struct drive *d)
{
	d->prog->bss->false_positives = 0;
	drive_run(d->absent, 0, 1024);
	return d->prog->bss->false_positives;
}

/* Does the filter fail open, because it has as many keys as it may? */
static inline bool drive_opened(struct drive *d)
{
	const struct epf_bpf_slot *s = ebpf_slot(d->filter);

	return epf_load(&s->keys) >= epf_load(&s->open_at);
}

/* Fork a child that ends when its parent does. */
static inline pid_t drive_fork(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static inline void drive_sleep(__u64 ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	nanosleep(&t, NULL);
}

static inline void drive_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Run worker 1 on CPU @cpu, which stays within its section until hold is 0; @how says
 * where.
 */
static inline pid_t drive_hold_on(struct drive *d, __u64 how, __u32 cpu)
{
	volatile __u64 *held = &d->prog->bss->held;
	pid_t pid;

	*held = 0;
	d->prog->bss->hold = how;
	d->prog->bss->nap_worker = cpu;
	pid = drive_fork();
	if (!pid) {
		drive_pin((int)cpu);
		drive_run(d->laws, 1, 1);
		_exit(0);
	}
	drive_pin(!cpu);
	while (!*held)
		sched_yield();
	return pid;
}

static inline pid_t drive_hold(struct drive *d, __u64 how)
{
	return drive_hold_on(d, how, 0);
}

/* Hold a filter for one step. */
static inline int drive_step(const char *name)
{
	struct ebpf_hold *hold;
	__u64 wait_ns;
	int ret = ebpf_hold_begin(name, &hold);

	if (ret)
		return ret;
	while ((ret = ebpf_hold_step(hold, &wait_ns)) == 1)
		drive_sleep(wait_ns); /* another process has the lock */
	ebpf_hold_end(hold);
	return ret;
}

/* Skip if this cannot run here. Return: false: skipped. */
static inline bool drive_possible(void)
{
	int fd = geteuid() ? -EPERM : ebpf_pins_open();

	libbpf_set_print(NULL);
	if (fd >= 0) {
		close(fd);
		drive_sweep();
		return true;
	}
	tap_skip_all(geteuid() ? "needs root" : "no BPF file system");
	return false;
}

/**
 * struct drive_part - part of a test
 * @name: name by which it can be run alone
 * @claims: number of its test points
 * @try: runs it
 */
struct drive_part {
	const char *name;
	int claims;
	void (*try)(void);
};

/* A BPF file system of its own, if the user may have one: whatever lists filters also mends
 * what a process has left that died, which has to wait for the test here.
 */
static inline void drive_alone(void)
{
	if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700");
}

/* main() of a test: runs all of @parts, or the one that is named. */
static inline int drive_parts(int argc, char **argv, const struct drive_part *parts, size_t nr)
{
	int claims = 0;
	size_t i;

	signal(SIGTERM, SIG_IGN); /* or else the filters would stay */
	signal(SIGPIPE, SIG_IGN);
	drive_alone();
	for (i = 0; i < nr; i++)
		if (argc < 2 || !strcmp(argv[1], parts[i].name))
			claims += parts[i].claims;
	tap_plan(claims);
	for (i = 0; i < nr; i++)
		if (argc < 2 || !strcmp(argv[1], parts[i].name))
			parts[i].try();
	return tap_end();
}

#endif /* EPF_DRIVE_H */
