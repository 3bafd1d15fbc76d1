// SPDX-License-Identifier: GPL-2.0
/*
 * The window property of pure BPF filters. Two CPUs insert, while the holder is killed,
 * stopped and replaced, and contents are exchanged. Each key is reported present until
 * the window has passed (laws.bpf.c judges), or unknown with a reason. With the
 * argument "kernel" a BPF timer ends epochs.
 *
 * All waits are for an order of events, not for time. Workers run at most AHEAD epoch
 * lengths ahead of the epochs, so that the filter does not fill up however late the
 * holder gets a CPU.
 */
#include "drive.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LENGTH 16384u /* insertions of an epoch */
#define AHEAD 2u
#define LINES 65536u
#define BATCH 512u

static struct drive d;
static char other[EPF_NAME_LEN];
static __u64 quota; /* keys allowed to each worker */
static bool timed;

static __u64 tickets(void)
{
	return __atomic_load_n(&d.prog->bss->tickets, __ATOMIC_SEQ_CST);
}

static void pin_to(__u32 worker)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(worker % (cpus > 0 ? cpus : 1), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A worker in its own process. */
static void work(__u32 worker)
{
	struct laws_worker *me = &d.prog->bss->workers[worker];
	bool good = true;

	pin_to(worker);
	while (good && me->keys < quota) {
		if (ebpf_inserts(d.filter) < AHEAD * LENGTH)
			good = drive_run(d.laws, worker, BATCH);
		else
			drive_sleep(100000);
	}
	_exit(good ? 0 : 1);
}

static void rotate_forever(void)
{
	struct ebpf_hold *hold;
	__u64 wait_ns;
	int ret;

	while ((ret = ebpf_hold_begin(d.name, &hold)) == -EBUSY)
		drive_sleep(1000000);
	while (ret >= 0) {
		ret = ebpf_hold_step(hold, &wait_ns);
		drive_sleep(wait_ns < 1000000 ? wait_ns : 1000000);
	}
	_exit(1);
}

static pid_t rotator;

static void rotator_start(void)
{
	if (timed) {
		ebpf_timer_start(d.filter);
		return;
	}
	rotator = drive_fork();
	if (!rotator)
		rotate_forever();
	while (!ebpf_held(d.name))
		sched_yield();
}

static void rotator_kill(void)
{
	if (timed) {
		ebpf_tick(d.filter, EPF_BPF_TICK_STOP);
		return;
	}
	kill(rotator, SIGKILL);
	waitpid(rotator, NULL, 0);
}

/* Wait for @n more keys, or until no worker can continue. */
static void let(__u64 n)
{
	__u64 begin = tickets(), last = begin, now;
	int idle = 0;

	for (; idle < 30; last = now) {
		drive_sleep(1000000);
		now = tickets();
		idle = now == last ? idle + 1 : 0;
		if (now - begin >= n)
			return;
	}
}

/* ---- what happens meanwhile ---- */

static bool killed(void)
{
	rotator_kill();
	let(LENGTH);
	rotator_start();
	return true;
}

static bool stopped(void)
{
	if (timed)
		return killed();
	kill(rotator, SIGSTOP);
	let(4 * LENGTH); /* until they wait for the holder */
	kill(rotator, SIGCONT);
	return true;
}

static bool second(void)
{
	struct ebpf_hold *hold;
	int ret = ebpf_hold_begin(d.name, &hold);

	if (!ret)
		ebpf_hold_end(hold);
	if (timed && ebpf_timer_start(d.filter))
		return false;
	return ret == (timed ? -EOPNOTSUPP : -EBUSY);
}

/* Keys older than the end of this are removed on purpose. */
static bool forget(__u32 epochs)
{
	int ret;

	__atomic_store_n(&d.prog->bss->floor_ticket, ~0ULL, __ATOMIC_SEQ_CST);
	ret = ebpf_rotate_now(d.filter, epochs, NULL);
	__atomic_store_n(&d.prog->bss->floor_ticket, tickets(), __ATOMIC_SEQ_CST);
	return !ret;
}

static bool rotated(void)
{
	return forget(1);
}

static bool cleared(void)
{
	return forget(EPF_LANES);
}

/* Keys move with the contents, so after the second swap they are back. */
static bool swapped(void)
{
	struct epf_swap a = { 0 };
	int ret;

	strcpy(a.a.name, d.name);
	strcpy(a.b.name, other);
	ret = ebpf_swap(&a);
	let(LENGTH / 2);
	return !(ret ?: ebpf_swap(&a));
}

/* Restore a copy of the filter into it; the copied keys are not judged, later ones are. */
static bool restored(void)
{
	struct epf_snap snap = { .pin_ns = EPF_PIN_MAX_NS };
	struct epf_restore r = { 0 };
	struct epf_lanes lanes;
	int ret = ebpf_snap_begin(d.filter, &snap);

	if (ret || ebpf_lines(d.filter, &lanes))
		return false;
	r.lines = (__u64)(uintptr_t)malloc(d.filter->line_bytes);
	memcpy((void *)(uintptr_t)r.lines, lanes.line, d.filter->line_bytes);
	snap.pin_ns = 0;
	ret = ebpf_snap_end(d.filter, &snap);
	r.header = snap.header;
	r.desc = snap.desc;
	if (!ret)
		ret = ebpf_restore(d.filter, &r);
	free((void *)(uintptr_t)r.lines);
	return !ret;
}

/* Pause on one CPU from now on. */
static bool longer(void)
{
	d.prog->bss->nap_rounds = 400000;
	d.prog->bss->nap_every = 4096;
	d.prog->bss->nap_worker = 0;
	return true;
}

static const struct event {
	const char *what;
	bool (*happen)(void);
} events[] = {
	{ "killed", killed },   { "stopped", stopped },   { "second", second },
	{ "swapped", swapped }, { "longer", longer },     { "rotated", rotated },
	{ "killed", killed },   { "restored", restored }, { "swapped", swapped },
	{ "cleared", cleared }, { "stopped", stopped },
};
#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

/* ---- the law ---- */

static bool events_happen(__u32 *nr, const pid_t worker[])
{
	bool good = true;
	__u32 i;

	for (i = 0; i < LAWS_WORKERS; i++)
		while (!waitpid(worker[i], NULL, WNOHANG)) {
			let(2 * LENGTH);
			if (!timed && waitpid(rotator, NULL, WNOHANG) == rotator) {
				printf("# the rotator ended\n");
				return false;
			}
			if (events[*nr % NR_EVENTS].happen())
				++*nr;
			else {
				printf("# %s: refused\n", events[*nr % NR_EVENTS].what);
				good = false;
				++*nr;
			}
		}
	return good;
}

static void sum_up(struct laws_worker *sum)
{
	const struct laws_worker *w = d.prog->bss->workers;
	__u32 i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < LAWS_WORKERS; i++) {
		sum->keys += w[i].keys;
		sum->judged += w[i].judged;
		sum->missed += w[i].missed;
		sum->unknown += w[i].unknown;
		sum->wrong += w[i].wrong;
		sum->refused += w[i].refused;
		sum->repeats += w[i].repeats;
	}
}

static void tell(const char *shape, __u32 nr)
{
	struct laws_worker s;
	__u64 found = drive_absent(&d);

	sum_up(&s);
	printf("# %s: %llu keys, %llu judged, %llu missed, %llu unknown, %llu repeats; epoch %llu, %u events so far; %llu of 65536 others\n",
	       shape, s.keys, s.judged, s.missed, s.unknown, s.repeats,
	       ebpf_slot(d.filter)->state.epoch, nr, found);
	if (s.missed)
		printf("# first: key %llu of ticket %llu at %llu, epoch %llu\n",
		       d.prog->bss->missed_key, d.prog->bss->missed_ticket, d.prog->bss->missed_now,
		       d.prog->bss->missed_epoch);
	tap_ok(s.judged && !s.missed, "%s: no key is missed", shape);
	tap_ok(!s.wrong && !s.refused, "%s: \"do not know\" has its reason", shape);
	tap_ok(s.unknown * 2 < s.judged && found < 6554, "%s: the answers tell keys apart", shape);
}

static void law(const char *shape, const struct epf_params *p)
{
	static __u32 nr; /* each filter continues the numbers of the previous one */
	pid_t worker[LAWS_WORKERS];
	__u32 i;
	bool good;

	drive_name(other, "laws-other");
	/* a timer's filter is swapped with a filter of either kind */
	if (drive_begin_flags(&d, "laws", p, timed ? EPF_BPF_CREATE_TIMER : 0) ||
	    drive_create_flags(other, p, timed && !p->refresh ? EPF_BPF_CREATE_TIMER : 0)) {
		for (i = 0; i < 4; i++)
			tap_ok(false, "%s: not made", shape);
		drive_end(&d);
		return;
	}
	d.prog->bss->window = p->window_inserts;
	rotator_start();
	for (i = 0; i < LAWS_WORKERS; i++) {
		worker[i] = drive_fork();
		if (!worker[i])
			work(i);
	}
	good = events_happen(&nr, worker);
	tap_ok(good, "%s: all events happened", shape);
	tell(shape, nr);
	rotator_kill();
	drive_end(&d);
	ebpf_destroy(other, true);
}

/* usage: laws [kernel] */
int main(int argc, char **argv)
{
	static const __u16 bits[] = { [1] = 8, [2] = 10, [4] = 12 };
	struct epf_params p = {
		.mode = EPF_MODE_COUNT,
		.nr_lines = LINES,
		.window_inserts = EPF_LIVE_EPOCHS * LENGTH,
		.budget_ppt = EPF_RATE_ONE,
		.limit_ppt = EPF_RATE_ONE,
	};
	char shape[64];

	if (!drive_possible())
		return TAP_SKIPPED;
	timed = argc > 1 && !strcmp(argv[1], "kernel");
	if (timed && ebpf_timer_possible()) {
		tap_skip_all("no timers on PREEMPT_RT");
		return TAP_SKIPPED;
	}
	quota = getenv("EPF_THOROUGH") ? 4000000 : 100000;
	tap_plan(24);
	for (p.lines_per_key = 1; p.lines_per_key <= 4; p.lines_per_key *= 2)
		for (p.refresh = 0; p.refresh <= EPF_FIRST_SEEN; p.refresh++) {
			p.bits_per_key = bits[p.lines_per_key];
			snprintf(shape, sizeof(shape), "L = %u, %s", p.lines_per_key,
				 p.refresh ? "first seen" : "refresh");
			law(shape, &p);
		}
	return tap_end();
}
