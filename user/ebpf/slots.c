// SPDX-License-Identifier: GPL-2.0
/*
 * A filter changes over to its other slot: what swap and restore share. All with
 * the lock held.
 *
 * @changing is set before the free slot is touched, and cleared when it is empty
 * again. Whoever gets the lock and finds it set knows that the one who changed was
 * killed, and finishes (ebpf_slots_repair()): by then the contents are the old ones
 * or the new ones, in full; but the free slot may have lines, programs may be in it,
 * and some of their keys may have been counted for nobody.
 *
 * A slot loses its lines only after a grace period: a program that has read which
 * slot is active, and not yet looked for the lines, would find none.
 */
#include "ebpf.h"

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
	bpf_map_delete_elem(f->lines, &slot); /* or there is none */
	set_changing(f, 0);
}

void ebpf_slots_until(struct ebpf_filter *f, __u64 until)
{
	__u32 slot = ebpf_free_slot(f);
	__u64 own = epf_load(&f->shared->slot[slot ^ 1].until);

	epf_store_release(&f->shared->slot[slot].until,
			  own < until ? own : until);
}

int ebpf_slots_repair(struct ebpf_filter *f)
{
	int ret = ebpf_wait_programs(f);

	if (!ret)
		ret = ebpf_recount(f);
	if (!ret)
		ebpf_slots_end(f);
	return ret;
}
