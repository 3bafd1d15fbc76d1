// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ending epochs on request, and replacing the contents of a filter. */
#include "calls.h"
#include "common/clock.h"

#include <epf/keydesc.h>
#include <epf/snapshot.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Advance the scan and the grace period: a rotation waits for one of them. */
static int get_on(struct ebpf_filter *f)
{
	return ebpf_scan(f) ?: ebpf_grace(f);
}

/* Return: 1: done; 0: scan or grace period must advance first; a negative errno. */
static int try_rotate(struct ebpf_filter *f, bool if_due)
{
	int ret = ebpf_begin(f);

	if (ret)
		return ret;
	if (!if_due || ebpf_due(f, now_ns()))
		ret = ebpf_rotate(f, now_ns());
	ebpf_end(f);
	return ret == -EAGAIN ? 0 : ret ?: 1;
}

int ebpf_settle(struct ebpf_filter *f)
{
	int ret = 1;

	if (ebpf_timed(f))
		return ebpf_timer_settle(f);
	while (ret >= 0 && ebpf_due(f, now_ns())) {
		ret = try_rotate(f, true);
		if (ret == -EBUSY)
			return 0; /* a snapshot blocks it: left to the next caller */
		if (ret >= 0)
			ret = get_on(f);
	}
	return ret < 0 ? ret : 0;
}

static int estimate_locked(struct ebpf_filter *f)
{
	int ret = ebpf_begin(f);

	if (ret)
		return ret;
	ret = ebpf_estimate(f);
	ebpf_end(f);
	return ret;
}

int ebpf_rotate_now(struct ebpf_filter *f, __u32 count, __u64 *epoch)
{
	int ret = 0;

	if (ebpf_timed(f)) {
		ret = ebpf_timer_rotate(f, count);
		count = 0;
	}
	while (count) {
		ret = try_rotate(f, false);
		if (ret < 0)
			return ret;
		count -= (__u32)ret;
		ret = get_on(f);
		if (ret)
			return ret;
	}
	if (ret)
		return ret;
	if (epoch)
		*epoch = ebpf_slot(f)->state.epoch;
	return estimate_locked(f);
}

/* ---- other contents ---- */

static void restore_state(struct epf_bpf_slot *s, const struct epf_snap_header *h)
{
	epf_snap_load(h, &s->state, now_ns()); /* what is stale is emptied below */
	s->quiet = h->epoch_end;
	s->base_inserts = h->inserts;
}

/*
 * New contents are built without the lock, in memory of this process and in a map that
 * belongs to no filter, because the time grows with the number of lines. Epochs of the old
 * contents end meanwhile, and a process that is killed leaves nothing behind. Only complete
 * contents are put into the filter.
 */

static void close_draft(struct ebpf_filter *d)
{
	if (d->line)
		munmap(d->line, d->line_bytes);
	if (d->line_fd >= 0)
		close(d->line_fd);
	if (d->shared)
		explicit_bzero(d->shared, sizeof(*d->shared)); /* the hash key */
	free(d->shared);
	free(d->cpu);
	free(d);
}

/* Create a draft without lines. */
static int open_draft(__u32 cpus, struct ebpf_filter **draft)
{
	struct ebpf_filter *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->line_fd = -1;
	d->shared = calloc(1, sizeof(*d->shared));
	d->cpu = calloc(cpus, sizeof(*d->cpu));
	if (!d->shared || !d->cpu) {
		close_draft(d);
		return -ENOMEM;
	}
	d->shared->cpus = cpus;
	*draft = d;
	return 0;
}

static int draft_lines(struct ebpf_filter *d)
{
	struct epf_bpf_slot *s = ebpf_slot(d);
	int fd = ebpf_make_lines(epf_geom_lines(&s->geom));
	void *map;

	if (fd < 0)
		return fd;
	d->line_fd = fd;
	d->line_bytes = epf_geom_lines(&s->geom) * EPF_LINE_BYTES;
	map = mmap(NULL, d->line_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	d->line = map;
	d->line_serial = s->serial;
	return 0;
}

/* Copy the lines of a snapshot to @d, and scan them. */
static int change_copy_lines(struct ebpf_filter *d, const struct epf_line *from)
{
	struct epf_lanes lanes;
	int ret = draft_lines(d) ?: ebpf_lines(d, &lanes);

	if (ret)
		return ret;
	memcpy(lanes.line, from, d->line_bytes);
	epf_lanes_scan(&lanes, 0, epf_geom_lines(&lanes.geom));
	ret = ebpf_estimate(d);
	if (!ret)
		ebpf_measured_room(d);
	return ret;
}

static int fill_draft(struct ebpf_filter *d, const struct epf_restore *a)
{
	int ret = ebpf_fill_slot(d, 0, &a->header.params, a->header.key);

	if (ret)
		return ret == -EINVAL ? -EBADMSG : ret;
	ebpf_slot(d)->desc = a->desc;
	restore_state(ebpf_slot(d), &a->header);
	return change_copy_lines(d, (const void *)(uintptr_t)a->lines);
}

/* Copy the words of @d to the free slot, which already has the new lines. */
static int change_give_words(struct ebpf_filter *f, const struct ebpf_filter *d, __u64 until)
{
	__u32 slot = ebpf_free_slot(f);
	struct epf_bpf_slot *s = &f->shared->slot[slot];
	const struct epf_params *p = &s->params;
	int ret;

	memset(&f->cpu[slot * f->shared->cpus], 0, f->shared->cpus * sizeof(*f->cpu));
	*s = d->shared->slot[0];
	if (ebpf_slot(f)->align_ns && p->mode == EPF_MODE_TIME)
		s->align_ns =
			epf_align_pitch((p->window_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS);
	s->began = EPF_BEGAN_NEVER;
	s->dated = s->state.epoch;
	ebpf_slots_until(f, until);
	ret = ebpf_timer_adopt(f, slot);
	epf_bpf_set_open_at(s, (__u64)f->shared->cpus * (s->keys_step - 1));
	return ret;
}

/* With the lock held. Programs that use the old contents finish with them. */
static int replace(struct ebpf_filter *f, const struct ebpf_filter *d)
{
	__u64 until;
	int ret = ebpf_overdue_at(f, &until);

	if (ret)
		return ret;
	ret = ebpf_slots_begin(f, d->line_fd);
	if (!ret)
		ret = change_give_words(f, d, until) ?: ebpf_journal_over(f);
	if (!ret) {
		__atomic_store_n(&f->shared->active, ebpf_free_slot(f), __ATOMIC_SEQ_CST);
		ret = ebpf_wait_programs(f);
		if (ret)
			return ret; /* the next lock holder repairs it */
		ebpf_slots_begun(f);
	}
	ebpf_slots_end(f);
	return ret;
}

static int change_restore(struct ebpf_filter *f, const struct ebpf_filter *d)
{
	int ret = ebpf_begin(f);

	if (ret)
		return ret;
	ret = replace(f, d);
	ebpf_end(f);
	return ret;
}

int ebpf_restore(struct ebpf_filter *f, const struct epf_restore *a)
{
	struct ebpf_filter *d;
	int ret;

	if (!epf_snap_sound(&a->header, (1ULL << (64 - EPF_COUNT_BITS)) - 1) ||
	    epf_key_desc_check(&a->desc))
		return -EBADMSG;
	ret = open_draft(f->shared->cpus, &d);
	if (ret)
		return ret;
	ret = fill_draft(d, a) ?: change_restore(f, d);
	close_draft(d);
	return ret;
}
