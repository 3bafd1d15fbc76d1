// SPDX-License-Identifier: GPL-2.0
/* What ends epochs on request, or gives a filter other contents. */
#include "calls.h"

#include <epf/keydesc.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * 1000000000ULL + (__u64)t.tv_nsec;
}

/* Let scan and grace period get on, as a rotation waits for one of them. */
static int get_on(struct ebpf_filter *f)
{
	return ebpf_scan(f) ?: ebpf_grace(f);
}

/* Return: 1: done; 0: something has to get on first; or a negative errno. */
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

	while (ret >= 0 && ebpf_due(f, now_ns())) {
		ret = try_rotate(f, true);
		if (ret == -EBUSY)
			return 0; /* a snapshot holds it: the next who comes */
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
	int ret;

	while (count) {
		ret = try_rotate(f, false);
		if (ret < 0)
			return ret;
		count -= (__u32)ret;
		ret = get_on(f);
		if (ret)
			return ret;
	}
	if (epoch)
		*epoch = ebpf_slot(f)->state.epoch;
	return estimate_locked(f);
}

/* ---- other contents ---- */

/* The slot that is not active gets its maps' pins and lines. */
static int give_lines(struct ebpf_filter *f, __u32 slot, __u64 nr)
{
	unlink(ebpf_path(f->name, slot ? "lines1" : "lines0").text);
	return ebpf_pin_lines(f->name, f->lines, slot, nr);
}

/* Programs that are in the old contents finish there. */
static int activate(struct ebpf_filter *f, __u32 slot)
{
	__u32 old = slot ^ 1;
	int ret;

	__atomic_store_n(&f->shared->active, slot, __ATOMIC_RELEASE);
	ret = bpf_map_delete_elem(f->lines, &old) ? -errno : 0;
	unlink(ebpf_path(f->name, old ? "lines1" : "lines0").text);
	return ret;
}

static int header_check(const struct epf_snap_header *h)
{
	int i;

	if (h->magic != EPF_SNAP_MAGIC || h->version != EPF_SNAP_VERSION ||
	    h->header_bytes != sizeof(*h))
		return -EBADMSG;
	if (h->epoch_begin < EPF_EPOCH_FIRST || h->epoch_begin > h->epoch_end ||
	    h->epoch_end >= 1ULL << (64 - EPF_COUNT_BITS))
		return -EBADMSG;
	for (i = 0; i < EPF_EPOCHS; i++)
		if (h->epochs[i].inserts > EPF_INSERTS_MAX ||
		    h->epochs[i].age_ns > EPF_NS_MAX)
			return -EBADMSG;
	return 0;
}

/* As of a snapshot taken now: keys are retained no shorter than promised. */
static void restore_state(struct epf_bpf_slot *s,
			  const struct epf_snap_header *h)
{
	__u64 now = now_ns(), e = h->epoch_end;
	int i;

	s->state.epoch = e;
	s->state.scanned = e; /* what is stale is emptied below */
	s->quiet = e;
	s->base_inserts = h->inserts;
	for (i = 0; i < EPF_EPOCHS; i++) {
		s->state.ring[i].inserts = h->epochs[i].inserts;
		s->state.ring[i].start_ns = now - h->epochs[i].age_ns;
	}
	s->state.count = epf_count_pack(e, h->epochs[e & 7].inserts);
}

/* The lines of a snapshot into those of @to, and the scan right behind. */
static int copy_lines(struct ebpf_filter *to, const struct epf_line *from)
{
	struct epf_lanes lanes;
	int ret = ebpf_lines(to, &lanes);

	if (ret)
		return ret;
	memcpy(lanes.line, from, to->line_bytes);
	epf_scan(&lanes, 0, epf_geom_lines(&lanes.geom));
	return ebpf_estimate(to);
}

/* With the lock held: @a into the slot that @to views. */
static int fill_from(struct ebpf_filter *to, bool align,
		     const struct epf_restore *a)
{
	const struct epf_params *p = &a->header.params;
	__u32 slot = (__u32)to->view;
	struct epf_bpf_slot *s = ebpf_slot(to);
	int ret = ebpf_fill_slot(to, slot, p, a->header.key);

	if (ret)
		return ret == -EINVAL ? -EBADMSG : ret;
	if (align && p->mode == EPF_MODE_TIME)
		s->align_ns = epf_align_pitch((p->window_ns +
					       EPF_LIVE_EPOCHS - 1) /
					      EPF_LIVE_EPOCHS);
	s->desc = a->desc;
	restore_state(s, &a->header);
	ret = give_lines(to, slot, p->nr_lines);
	if (!ret)
		ret = copy_lines(to, (const void *)(uintptr_t)a->lines);
	if (!ret)
		ebpf_measured_room(to);
	return ret;
}

/* With the lock held. */
static int restore(struct ebpf_filter *f, const struct epf_restore *a)
{
	__u32 slot = f->shared->active ^ 1;
	struct ebpf_filter *to;
	int ret = ebpf_open(f->name, &to);

	if (ret)
		return ret;
	to->view = (int)slot;
	/* Who changed over to the other slot may have been killed before programs
	 * had left this one: to delete its map waits for them.
	 */
	bpf_map_delete_elem(f->lines, &slot);
	ret = fill_from(to, ebpf_slot(f)->align_ns, a);
	/* Who ends epochs, and until when, is the filter's. */
	epf_store_release(&ebpf_slot(to)->until, ebpf_slot(f)->until);
	ebpf_close(to);
	return ret ?: activate(f, slot);
}

int ebpf_restore(struct ebpf_filter *f, const struct epf_restore *a)
{
	int ret = header_check(&a->header);

	if (!ret && epf_key_desc_check(&a->desc))
		ret = -EBADMSG;
	if (!ret)
		ret = ebpf_begin(f);
	if (ret)
		return ret;
	ret = restore(f, a);
	ebpf_end(f);
	return ret;
}
