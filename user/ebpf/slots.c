// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Changing a filter over to its other slot, for swap and restore. All functions need the
 * lock.
 *
 * @changing is set before the free slot is written, and cleared when that slot is empty
 * again. A process that gets the lock and finds it set knows that the process which made
 * the change was killed, and finishes it (ebpf_slots_repair()). The contents are then
 * completely the old ones or the new ones; but the free slot may have lines, programs may
 * still use it, and some of their keys may not be counted.
 *
 * A slot loses its lines only after a grace period. Otherwise a program that has read
 * which slot is active, but has not looked up the lines yet, would find none.
 */
#include "ebpf.h"
#include "common/clock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

__u32 ebpf_free_slot(const struct ebpf_filter *f)
{
	return f->shared->active ^ 1;
}

struct ebpf_path ebpf_lines_path(const struct ebpf_filter *f, __u32 slot)
{
	return ebpf_path(f->name, slot ? "lines1" : "lines0");
}

static void set_changing(struct ebpf_filter *f, __u32 changing)
{
	__atomic_store_n(&f->shared->changing, changing, __ATOMIC_SEQ_CST);
}

int ebpf_slots_begin(struct ebpf_filter *f, int lines)
{
	__u32 slot = ebpf_free_slot(f);

	set_changing(f, 1);
	ebpf_timer_quiet(f);
	if (bpf_map_update_elem(f->lines, &slot, &lines, BPF_ANY) ||
	    bpf_obj_pin(lines, ebpf_lines_path(f, slot).text))
		return -errno;
	return 0;
}

void ebpf_slots_end(struct ebpf_filter *f)
{
	__u32 slot = ebpf_free_slot(f);

	unlink(ebpf_lines_path(f, slot).text);
	bpf_map_delete_elem(f->lines, &slot); /* fails if there is none */
	ebpf_journal_drop(f, slot);
	set_changing(f, 0);
}

void ebpf_slots_until(struct ebpf_filter *f, __u64 until)
{
	__u32 slot = ebpf_free_slot(f);
	__u64 own = epf_load(&f->shared->slot[slot ^ 1].until);

	epf_store_release(&f->shared->slot[slot].until, own < until ? own : until);
}

void ebpf_slots_begun(struct ebpf_filter *f)
{
	struct epf_bpf_slot *s = ebpf_slot(f);

	if (s->began == EPF_BEGAN_NEVER)
		epf_store_release(&s->began, now_ns());
}

int ebpf_slots_repair(struct ebpf_filter *f)
{
	int ret = ebpf_wait_programs(f);

	if (!ret)
		ebpf_slots_begun(f);
	if (!ret)
		ret = ebpf_recount(f);
	if (!ret)
		ebpf_slots_end(f);
	return ret;
}
