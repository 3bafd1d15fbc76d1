// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Snapshots: block rotation, and describe the copy.
 *
 * While a snapshot is under way, its descriptor has a lock on byte @pins of the filter's
 * directory. The kernel releases it with the descriptor, so a pin without a lock is that of a
 * process that was killed, and the next one that takes the filter's lock removes it. Locks of
 * fcntl() and of flock(), which are the filter's, do not meet. On a directory a lock can only be
 * one for reading, and who asks for the lock of another need not be able to have one.
 */
#include "calls.h"

#include <epf/snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "libepf/clock.h"

/* Lock or unlock byte @pin, or ask who else has a lock there: *@type. Return: 0; an error. */
static int snap_lock(const struct ebpf_filter *f, int cmd, __u64 pin, short *type)
{
	struct flock l = {
		.l_type = *type, .l_whence = SEEK_SET, .l_start = (off_t)pin, .l_len = 1
	};
	int ret = fcntl(f->dir, cmd, &l) ? -errno : 0;

	*type = l.l_type;
	return ret;
}

int ebpf_byte_lock(const struct ebpf_filter *f, __u64 byte, short type)
{
	return snap_lock(f, F_OFD_SETLK, byte, &type);
}

bool ebpf_byte_locked(const struct ebpf_filter *f, __u64 byte)
{
	short type = F_WRLCK;

	return snap_lock(f, F_OFD_GETLK, byte, &type) || type != F_UNLCK;
}

void ebpf_snap_repair(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);

	if (f->snap_pin != s->pins && !ebpf_byte_locked(f, s->pins))
		s->pin_until_ns = 0;
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
	a->now_ns = epf_clock_ns();
	h->realtime_ns = epf_wall_ns();
	a->desc = s->desc;
	a->journal = s->journal ? s->journal_serial : 0;
	epf_snap_save(h, &s->state, ebpf_inserts(f), a->now_ns);
}

static int snap_pin_begin(struct ebpf_filter *f, struct epf_snap *a)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 now = epf_clock_ns();
	int ret;

	if (f->snap_pin || s->pin_until_ns > now)
		return -EBUSY;
	ret = ebpf_byte_lock(f, s->pins + 1, F_RDLCK);
	if (ret)
		return ret;
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
		s->pin_until_ns = epf_clock_ns() + EPF_BPF_HOLD_NS;
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
	__u64 pin = f->snap_pin;

	if (ret)
		return ret;
	ret = snap_end(f, a);
	if (pin)
		ebpf_byte_lock(f, pin, F_UNLCK);
	ebpf_end(f);
	return ret;
}
