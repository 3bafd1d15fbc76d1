// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Filters whose epochs a BPF timer ends (bpf/epf_timer.bpf.c). The timer is in a pinned
 * map, so it needs no process; it ends when the filter's directory is removed.
 *
 * User space ends epochs by running the same program. Locks of processes do not keep a timer
 * out, and a process that holds no lock cannot be killed while holding one.
 */
#include "ebpf.h"
#include "common/clock.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* EPF_BPF_OUT, set by the Makefile, is where the objects were built. */
__asm__(".pushsection .rodata\n"
	".balign 8\nepf_timer_start:\n"
	".incbin \"" EPF_BPF_OUT "/epf_timer.bpf.o\"\nepf_timer_end:\n"
	".popsection\n");
extern const char __attribute__((visibility("hidden"))) epf_timer_start[], epf_timer_end[];

#define PAUSE_NS 100000 /* polling interval while another tick or programs run */

bool ebpf_timed(const struct ebpf_filter *f)
{
	return f->shared->rotate == EPF_BPF_ROTATE_KERNEL;
}

bool ebpf_is_timed(const char *name)
{
	struct ebpf_filter *f;
	bool timed;

	if (ebpf_open(name, &f))
		return false;
	timed = ebpf_timed(f);
	ebpf_close(f);
	return timed;
}

/* With PREEMPT_RT the verifier rejects timers ("bpf_timer cannot be used for PREEMPT_RT" in
 * kernel/bpf/verifier.c of 6.12).
 */
int ebpf_timer_possible(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.version, "PREEMPT_RT") ? -ENOSYS : 0;
}

static int pin_map(struct bpf_object *obj, const char *map, const char *dir, const char *what)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, map);

	if (!m)
		return -ENOENT;
	return bpf_obj_pin(bpf_map__fd(m), ebpf_path(dir, what).text) ? -errno : 0;
}

int ebpf_timer_load(const char *dir)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "epf_timer");
	struct bpf_object *obj = bpf_object__open_mem(epf_timer_start,
						      (size_t)(epf_timer_end - epf_timer_start),
						      &opts);
	struct bpf_program *prog;
	int ret;

	if (!obj)
		return -errno;
	prog = bpf_object__find_program_by_name(obj, "epf_tick");
	ret = ebpf_reuse_maps(obj, dir);
	if (!ret)
		ret = bpf_object__load(obj);
	if (!ret)
		ret = pin_map(obj, "epf_timer", dir, "timer");
	if (!ret)
		ret = pin_map(obj, "epf_limits", dir, "limits");
	if (!ret && bpf_obj_pin(bpf_program__fd(prog), ebpf_path(dir, "tick").text))
		ret = -errno;
	bpf_object__close(obj);
	return ret;
}

int ebpf_tick(struct ebpf_filter *f, enum epf_bpf_tick_op op)
{
	struct epf_bpf_tick tick = { .op = op };
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = &tick, .data_size_in = sizeof(tick),
		    .data_out = &tick, .data_size_out = sizeof(tick), .repeat = 1);

	if (f->tick < 0)
		f->tick = bpf_obj_get(ebpf_path(f->name, "tick").text);
	if (f->tick < 0)
		return -errno;
	while (bpf_prog_test_run_opts(f->tick, &t))
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return t.retval == 2 ? tick.ret : -ENODEV; /* XDP_PASS: success */
}

int ebpf_timer_start(struct ebpf_filter *f)
{
	__u64 hz;
	int ret = ebpf_rate(f, &hz);

	if (ret)
		return ret;
	f->shared->hz = (__u32)hz;
	return ebpf_tick(f, EPF_BPF_TICK_START);
}

bool ebpf_ticks(const struct ebpf_filter *f)
{
	return now_ns() - epf_load(&f->shared->ticked_ns) < EPF_BPF_HOLD_NS;
}

static void pause_shortly(void)
{
	const struct timespec t = { .tv_nsec = PAUSE_NS };

	nanosleep(&t, NULL);
}

/* The fence pairs with the CAS that takes the word: a tick that takes it later sees what was
 * stored before.
 */
void ebpf_timer_quiet(const struct ebpf_filter *f)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (__atomic_load_n(&f->shared->ticking, __ATOMIC_ACQUIRE))
		pause_shortly();
}

/* Has anything advanced since the last call? */
static bool gets_on(const struct ebpf_filter *f, __u64 *seen)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 sum = epf_load(&s->state.epoch) + epf_load(&s->scanned) + epf_load(&s->quiet);
	bool on = sum != *seen;

	*seen = sum;
	return on;
}

/* Return: 0; -ETIMEDOUT: nothing has advanced for EBPF_LOCK_MS. */
static int wait_turn(const struct ebpf_filter *f, __u64 *seen, __u64 *since_ns)
{
	if (gets_on(f, seen)) {
		*since_ns = now_ns();
		return 0;
	}
	if (now_ns() - *since_ns > EBPF_LOCK_MS * 1000000ULL)
		return -ETIMEDOUT;
	pause_shortly();
	return 0;
}

int ebpf_timer_rotate(struct ebpf_filter *f, __u32 count)
{
	__u64 seen = 0, since_ns = now_ns();
	int ret = 0;

	while (count && !ret) {
		ret = ebpf_tick(f, EPF_BPF_TICK_END);
		count -= ret == 1;
		if (ret == -EAGAIN || ret == -EALREADY)
			ret = wait_turn(f, &seen, &since_ns);
		ret = ret == 1 ? 0 : ret;
	}
	return ret;
}

int ebpf_timer_settle(struct ebpf_filter *f)
{
	__u64 seen = 0, since_ns = now_ns();
	int ret = 0;

	while (!ret && ebpf_due(f, now_ns())) {
		ret = ebpf_tick(f, EPF_BPF_TICK_STEP);
		if (ret == -EBUSY)
			return 0; /* a snapshot blocks it: left to the timer */
		if (ret == -EAGAIN || ret == -EALREADY)
			ret = wait_turn(f, &seen, &since_ns);
		ret = ret == 1 ? 0 : ret;
	}
	return ret;
}

int ebpf_timer_limits(struct ebpf_filter *f, __u32 slot)
{
	const struct epf_bpf_slot *s = &f->shared->slot[slot];
	struct epf_capacity_work *work;

	if (!f->capacity || s->params.limit_ppt == EPF_RATE_ONE)
		return 0;
	work = malloc(sizeof(*work));
	if (!work)
		return -ENOMEM;
	epf_capacity_init(&f->capacity[slot], &s->geom, epf_ppt_to_q56(s->params.limit_ppt), work);
	free(work);
	return 0;
}

int ebpf_timer_adopt(struct ebpf_filter *f, __u32 slot)
{
	struct epf_bpf_slot *s = &f->shared->slot[slot];
	__u32 i;

	s->timed = ebpf_timed(f);
	s->scan_at = 0;
	s->grace_epoch = 0;
	for (i = 0; i < f->shared->cpus; i++)
		f->cpu[(__u64)slot * f->shared->cpus + i].inside = 0;
	if (!s->timed)
		return 0;
	s->saturated = 0;
	return ebpf_timer_limits(f, slot);
}
