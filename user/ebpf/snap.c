// SPDX-License-Identifier: GPL-2.0
/* Snapshots: block rotation, and describe the copy. */
#include "calls.h"

#include <epf/snapshot.h>

#include <errno.h>
#include <string.h>
#include <time.h>

static __u64 clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (__u64)t.tv_sec * 1000000000ULL + (__u64)t.tv_nsec;
}

/* With the lock held. */
static void snap_fill(struct ebpf_filter *f, struct epf_snap *a)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	struct epf_snap_header *h = &a->header;
	struct epf_info info = { 0 };

	memset(h, 0, sizeof(*h));
	ebpf_info(f, &info);
	h->params = info.params;
	memcpy(h->key, s->hash.key, sizeof(h->key));
	h->epoch_begin = f->snap_begin;
	h->inserts = info.stats.inserts;
	a->now_ns = clock_ns(CLOCK_MONOTONIC);
	h->realtime_ns = clock_ns(CLOCK_REALTIME);
	a->desc = s->desc;
	a->journal = 0;
	epf_snap_save(h, &s->state, ebpf_inserts(f), a->now_ns);
}

static int snap_pin_begin(struct ebpf_filter *f, struct epf_snap *a)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 now = clock_ns(CLOCK_MONOTONIC);

	if (f->snap_pin || s->pin_until_ns > now)
		return -EBUSY;
	s->pin_until_ns = now + a->pin_ns;
	ebpf_timer_quiet(f); /* no epoch ends from here on */
	s->pins++;
	f->snap_pin = s->pins;
	f->snap_serial = s->serial;
	f->snap_begin = s->state.epoch;
	snap_fill(f, a);
	return 0;
}

/* Return: -ESTALE: the filter has other contents by now. */
static int snap_end(struct ebpf_filter *f, struct epf_snap *a)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 pin = f->snap_pin;

	if (!pin)
		return -EINVAL;
	f->snap_pin = 0;
	if (s->serial != f->snap_serial)
		return -ESTALE;
	if (ebpf_timed(f) && s->pins == pin) { /* no change while it is described */
		s->pin_until_ns = clock_ns(CLOCK_MONOTONIC) + EPF_BPF_HOLD_NS;
		ebpf_timer_quiet(f);
	}
	snap_fill(f, a);
	if (s->pins == pin)
		s->pin_until_ns = 0;
	return 0;
}

int ebpf_snap_begin(struct ebpf_filter *f, struct epf_snap *a)
{
	int ret;

	if (!a->pin_ns || a->pin_ns > EPF_PIN_MAX_NS)
		return -EINVAL;
	ret = ebpf_begin(f);
	if (ret)
		return ret;
	ret = snap_pin_begin(f, a);
	ebpf_end(f);
	return ret;
}

int ebpf_snap_end(struct ebpf_filter *f, struct epf_snap *a)
{
	int ret = a->pin_ns ? -EINVAL : ebpf_begin(f);

	if (ret)
		return ret;
	ret = snap_end(f, a);
	ebpf_end(f);
	return ret;
}
