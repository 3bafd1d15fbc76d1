// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ending epochs, the scan, the grace period and the estimate: the work of the module's
 * worker, done here by the process that holds the filter's lock.
 *
 * The process may be killed between any two stores here, and another one continues.
 * Therefore
 *
 *   - the epoch is stored before the value that allows it keys (open_at); otherwise
 *     the previous epoch would get them;
 *   - the records of the past (ring, share) are stored after it. Until then the past has
 *     fewer insertions, which makes nobody forget, and the current epoch has the keys of
 *     two, which makes the filter fail open too early;
 *   - @room may be that of the previous epoch, so @open_at is never computed from a stored
 *     @room: rotate_set_room() computes both anew. @keys_before is stored after @share; otherwise
 *     the new epoch would have room for keys that the previous one has used up;
 *   - the start of the epoch is stored once more after the epoch, by a clock that is read
 *     then (epf_state_date()), and @dated after it; until then the next process repeats it;
 *   - @quiet is stored after the grace period, @scanned after the scan; until then both
 *     are repeated.
 */
#include "common/clock.h"
#include "ebpf.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SCAN_LINES 16384u /* 1 MiB at a time under the lock */
#define NO_LIMIT EPF_BPF_NO_LIMIT

static const struct epf_bpf_cpu *rotate_cpus_of(const struct ebpf_filter *f, __u32 slot)
{
	return &f->cpu[(__u64)slot * f->shared->cpus];
}

static __u32 slot_of(const struct ebpf_filter *f, const struct epf_bpf_slot *s)
{
	return (__u32)(s - f->shared->slot);
}

__u64 ebpf_keys(const struct ebpf_filter *f, __u32 slot)
{
	const struct epf_bpf_cpu *cpu = rotate_cpus_of(f, slot);
	__u64 sum = f->shared->slot[slot].base_keys;
	__u32 i;

	for (i = 0; i < f->shared->cpus; i++)
		sum += epf_load(&cpu[i].keys);
	return sum;
}

__u64 ebpf_pending(const struct ebpf_filter *f)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	const struct epf_bpf_cpu *cpu = rotate_cpus_of(f, slot_of(f, s));
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < f->shared->cpus; i++)
		sum += epf_pending_of(epf_load(&cpu[i].pending), s->state.epoch);
	return sum;
}

__u64 ebpf_inserts(const struct ebpf_filter *f)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);

	return epf_count_of(epf_load(&s->state.count), s->state.epoch) + ebpf_pending(f);
}

/* When the epoch of @past began, by the current setting of the wall clock. */
static __u64 began_wall(const struct epf_past *past, __u64 now_ns)
{
	return epf_wall_ns() - (now_ns - past->start_ns);
}

__u64 ebpf_ends_ns(const struct ebpf_filter *f, __u64 now_ns)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	const struct epf_past *past = &s->state.ring[s->state.epoch & 7];
	struct epf_window w = epf_bpf_window(s);

	return past->start_ns +
	       epf_window_lasts(&w, began_wall(past, now_ns), s->state.epoch == EPF_EPOCH_FIRST);
}

bool ebpf_due(const struct ebpf_filter *f, __u64 now_ns)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	struct epf_window w = epf_bpf_window(s);
	__u64 ns = 0;

	if (w.mode != EPF_MODE_COUNT && (__s64)(now_ns - ebpf_ends_ns(f, now_ns)) >= 0)
		ns = w.epoch_ns; /* at least */
	return epf_window_due(&w, ebpf_inserts(f), ns);
}

/* The limit of keys that CPUs have not added to @keys yet. */
static __u64 kept(const struct ebpf_filter *f, const struct epf_bpf_slot *s)
{
	return (__u64)f->shared->cpus * (s->keys_step - 1);
}

static void set_open_at(const struct ebpf_filter *f, struct epf_bpf_slot *s)
{
	epf_bpf_set_open_at(s, kept(f, s));
}

static void rotate_set_room(struct ebpf_filter *f, struct epf_bpf_slot *s)
{
	s->room = f->limits.limited ? epf_bpf_room(s, &f->limits.capacity) : NO_LIMIT;
	set_open_at(f, s);
}

void ebpf_date(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);

	if (s->dated == s->state.epoch)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	epf_state_date(&s->state, now_ns());
	s->dated = s->state.epoch;
}

int ebpf_rotate(struct ebpf_filter *f, __u64 now_ns)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 keys = ebpf_keys(f, slot_of(f, s));
	__u64 inserts = ebpf_inserts(f);
	__u64 e = s->state.epoch;
	int ret = ebpf_limits(f) ?: epf_bpf_may_rotate(s, now_ns);

	if (ret)
		return ret;
	epf_state_rotate(&s->state, now_ns);
	ebpf_date(f);
	s->state.ring[e & 7].inserts = inserts;
	s->lane_fill[(e + 1) & 7] = 0;
	s->lane_fpr[(e + 1) & 7] = 0;
	if (f->limits.limited)
		s->share[e & 7] = epf_capacity_q56(&f->limits.capacity,
						   ebpf_keys(f, slot_of(f, s)) - s->keys_before);
	epf_store_release(&s->keys_before, keys); /* after the share */
	rotate_set_room(f, s);
	s->rotations++;
	return 0;
}

/* Scan one step of the chunk that is due. Return: 1: there is more; 0; a negative errno. */
static int scan_step(struct ebpf_filter *f, __u64 *at)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	struct epf_lanes lanes;
	__u64 first, end, n;
	int ret = ebpf_lines(f, &lanes);

	if (ret || s->state.scanned >= s->state.epoch)
		return ret;
	epf_scan_chunk(&s->state, epf_geom_lines(&lanes.geom), &first, &end);
	n = end - first - *at;
	n = n < SCAN_LINES ? n : SCAN_LINES;
	epf_lanes_scan(&lanes, first + *at, n);
	s->scanned += n;
	*at += n;
	if (first + *at < end)
		return 1;
	*at = 0;
	s->state.scanned++;
	return s->state.scanned < s->state.epoch;
}

int ebpf_scan(struct ebpf_filter *f)
{
	__u64 serial = ebpf_slot(f)->serial;
	__u64 scanned = ebpf_slot(f)->state.scanned;
	__u64 at = 0;
	int ret;

	do {
		ret = ebpf_begin(f);
		if (ret)
			return ret;
		/* Somebody else may have scanned, or changed the contents. */
		if (ebpf_slot(f)->serial != serial || ebpf_slot(f)->state.scanned != scanned)
			at = 0;
		serial = ebpf_slot(f)->serial;
		ret = scan_step(f, &at);
		scanned = ebpf_slot(f)->state.scanned;
		ebpf_end(f);
	} while (ret > 0);
	return ret;
}

/* Store the map of the contents again in the outer map. Before that call returns, the
 * kernel waits for all programs that may have looked the map up.
 */
int ebpf_wait_programs(const struct ebpf_filter *f)
{
	__u32 slot = slot_of(f, ebpf_slot(f));
	int fd = bpf_obj_get(ebpf_lines_path(f, slot).text);
	int ret;

	if (fd < 0)
		return -errno;
	ret = bpf_map_update_elem(f->lines, &slot, &fd, BPF_ANY) ? -errno : 0;
	close(fd);
	return ret;
}

/* The lock is held meanwhile. Otherwise another process could exchange the contents, and
 * the map that is stored again would belong to other contents.
 */
int ebpf_grace(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s;
	int ret = ebpf_begin(f);

	if (ret)
		return ret;
	s = ebpf_slot(f);
	ret = ebpf_wait_programs(f);
	if (!ret)
		epf_store_release(&s->quiet, s->state.epoch);
	ebpf_end(f);
	return ret;
}

static void rotate_sample(const struct ebpf_filter *f, const struct epf_lanes *lanes,
			  struct epf_estimates *est)
{
	struct epf_fill fill;
	__u64 random = 0;

	getrandom(&random, sizeof(random), GRND_NONBLOCK);
	memset(&fill, 0, sizeof(fill));
	epf_fill_sample(&fill, &f->limits.cover, lanes, random, EPF_FILL_SAMPLES);
	epf_fill_estimates(&fill, lanes->geom.parts, est);
}

static void store(struct epf_bpf_slot *s, const struct epf_estimates *est)
{
	__u32 l;

	s->fpr = est->fpr;
	for (l = 0; l < EPF_LANES; l++) {
		s->lane_fill[l] = est->lane_fill[l];
		s->lane_fpr[l] = est->lane_fpr[l];
	}
	s->estimated = s->state.epoch;
}

static int rotate_measure(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	struct epf_estimates est;
	struct epf_lanes lanes;
	int ret = ebpf_limits(f);

	if (!ret)
		ret = ebpf_lines(f, &lanes);
	if (ret)
		return ret;
	rotate_sample(f, &lanes, &est);
	store(s, &est);
	/* A timer takes no samples, so it would never clear a state set by a sample. */
	s->saturated = !ebpf_timed(f) && f->limits.limited && s->fpr > s->params.limit_ppt;
	return 0;
}

int ebpf_estimate(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	bool was = epf_load(&s->keys) >= epf_load(&s->open_at);
	int ret = rotate_measure(f);

	if (ret || ebpf_timed(f))
		return ret;
	rotate_set_room(f, s); /* for this epoch, even if a process died in ebpf_rotate() */
	s->saturations += !was && epf_load(&s->keys) >= epf_load(&s->open_at);
	return 0;
}

void ebpf_suspend(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);

	if (s->room != NO_LIMIT)
		epf_store_release(&s->open_at, 0);
}

void ebpf_resume(struct ebpf_filter *f)
{
	set_open_at(f, ebpf_slot(f));
}

/* The keys that CPUs have added, without those each keeps until its next step. */
static __u64 keys_told(const struct ebpf_filter *f, const struct epf_bpf_slot *s)
{
	const struct epf_bpf_cpu *cpu = rotate_cpus_of(f, slot_of(f, s));
	__u64 sum = s->base_keys;
	__u32 i;

	for (i = 0; i < f->shared->cpus; i++)
		sum += epf_load(&cpu[i].keys) & ~(s->keys_step - 1ULL);
	return sum;
}

/* The slot's word must lack no more than what CPUs keep. That also holds after a process
 * was killed between the two stores here, because the missing keys are computed anew.
 */
void ebpf_add_keys(struct ebpf_filter *f, __u64 keys)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 least, has;

	s->base_keys += keys;
	least = keys_told(f, s);
	has = epf_load(&s->keys);
	if (has < least)
		epf_fetch_add(&s->keys, least - has);
}

int ebpf_recount(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 keys, e = s->state.epoch, seen = 0;
	int ret = rotate_measure(f);

	if (ret)
		return ret;
	if (f->limits.limited)
		seen = epf_capacity_keys(&f->limits.capacity, epf_ppt_to_q56(s->lane_fpr[e & 7]));
	keys = ebpf_keys(f, slot_of(f, s)) - s->keys_before;
	ebpf_add_keys(f, seen > keys ? seen - keys : 0);
	rotate_set_room(f, s);
	return 0;
}

void ebpf_measured_room(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 e = s->state.epoch;
	__u32 i;

	if (f->limits.limited) {
		for (i = 0; i < EPF_LANES; i++)
			s->share[i] = epf_ppt_to_q56(s->lane_fpr[i]);
		s->base_keys = epf_capacity_keys(&f->limits.capacity, s->share[e & 7]);
	}
	s->keys = s->base_keys;
	s->keys_before = 0;
	rotate_set_room(f, s);
}
