// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two filters exchange their contents: each gets the other's words and lines in its free
 * slot, then both change over. Old and new slots share lines but each has its own epoch
 * word. They stay equal, because both filters are locked and end no epoch until all
 * programs have left the old slots.
 *
 * Keys: what programs count in an old slot after its words were copied, and before the
 * last program has left, is missing in the copy. Both contents therefore fail open
 * (ebpf_suspend()) from before the copy until these keys are added, which takes one grace
 * period. A process killed meanwhile leaves them open and @changing set; the next one
 * measures how many keys there are (slots.c).
 *
 * A process killed between the two changes leaves @half set in both, see epf/bpf.h.
 */
#include "calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct epf_bpf_cpu *swap_cpus_of(const struct ebpf_filter *f, __u32 slot)
{
	return &f->cpu[(__u64)slot * f->shared->cpus];
}

/* Give the lines of @from to the free slot of @to. */
static int give_lines(struct ebpf_filter *to, const struct ebpf_filter *from)
{
	int fd = bpf_obj_get(ebpf_lines_path(from, from->shared->active).text);
	int ret;

	if (fd < 0)
		return -errno;
	ret = ebpf_slots_begin(to, fd);
	close(fd);
	return ret;
}

/* Likewise the words. Verdicts of @to are valid until @until at the latest. @keys: set to
 * the number of keys in the copy. The counts of CPUs are copied last: keys that the slot's
 * word then lacks are added later (ebpf_add_keys()), but keys counted twice would stay.
 */
static int swap_give_words(struct ebpf_filter *to, const struct ebpf_filter *from, __u64 until,
			   __u64 *keys)
{
	__u32 slot = ebpf_free_slot(to), theirs = from->shared->active;

	to->shared->slot[slot] = from->shared->slot[theirs];
	to->shared->slot[slot].journal = 0;
	to->shared->slot[slot].began = EPF_BEGAN_NEVER;
	memcpy(swap_cpus_of(to, slot), swap_cpus_of(from, theirs),
	       from->shared->cpus * sizeof(*from->cpu));
	ebpf_slots_until(to, until);
	*keys = ebpf_keys(to, slot);
	return ebpf_timer_adopt(to, slot);
}

static void change_over(struct ebpf_filter *a, struct ebpf_filter *b)
{
	__atomic_store_n(&a->shared->half, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->shared->half, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&a->shared->active, ebpf_free_slot(a), __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->shared->active, ebpf_free_slot(b), __ATOMIC_SEQ_CST);
	__atomic_store_n(&a->shared->half, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->shared->half, 0, __ATOMIC_SEQ_CST);
}

/* Add the keys that the old slot of @from counted beyond @keys to @to. */
static void add_late(struct ebpf_filter *to, const struct ebpf_filter *from, __u64 keys)
{
	ebpf_add_keys(to, ebpf_keys(from, ebpf_free_slot(from)) - keys);
}

/* The free slots already have lines. A grace period of the kernel covers all programs, so
 * one is enough for both filters.
 */
static int swap_words(struct ebpf_filter *a, struct ebpf_filter *b, __u64 until)
{
	__u64 of_a, of_b;
	int ret;

	ebpf_suspend(a);
	ebpf_suspend(b);
	ret = swap_give_words(a, b, until, &of_b) ?: swap_give_words(b, a, until, &of_a);
	ret = ret ?: ebpf_journal_over(a) ?: ebpf_journal_over(b);
	if (ret)
		return ret; /* both stay open until they are repaired */
	change_over(a, b);
	ret = ebpf_wait_programs(a);
	if (ret)
		return ret; /* likewise */
	ebpf_slots_begun(a);
	ebpf_slots_begun(b);
	add_late(b, a, of_a);
	add_late(a, b, of_b);
	ebpf_resume(a);
	ebpf_resume(b);
	return 0;
}

static int swap_locked(struct ebpf_filter *a, struct ebpf_filter *b)
{
	__u64 until;
	int ret = ebpf_overdue_at(a, &until);

	if (ret)
		return ret;
	if ((ebpf_timed(a) && ebpf_slot(b)->align_ns) || (ebpf_timed(b) && ebpf_slot(a)->align_ns))
		return -EOPNOTSUPP; /* a timer does not know the wall clock */
	ret = give_lines(a, b) ?: give_lines(b, a);
	if (!ret) {
		ret = swap_words(a, b, until);
		if (ret)
			return ret;
	}
	ebpf_slots_end(a);
	ebpf_slots_end(b);
	return ret;
}

static int open_both(const struct epf_swap *args, struct ebpf_filter **a, struct ebpf_filter **b)
{
	int ret = ebpf_open(args->a.name, a);

	if (ret)
		return ret;
	ret = ebpf_open(args->b.name, b);
	if (ret)
		ebpf_close(*a);
	return ret;
}

/* Lock them in the order of their names, to avoid a deadlock. */
static int swap_in_order(struct ebpf_filter *a, struct ebpf_filter *b)
{
	int ret = ebpf_begin(a);

	if (ret)
		return ret;
	ret = ebpf_begin(b);
	if (!ret) {
		ret = swap_locked(a, b);
		ebpf_end(b);
	}
	ebpf_end(a);
	return ret;
}

int ebpf_swap(const struct epf_swap *args)
{
	struct ebpf_filter *a, *b;
	int order = strncmp(args->a.name, args->b.name, EPF_NAME_LEN);
	int ret = order ? open_both(args, &a, &b) : -EINVAL;

	if (ret)
		return ret;
	ret = order < 0 ? swap_in_order(a, b) : swap_in_order(b, a);
	ebpf_close(a);
	ebpf_close(b);
	return ret;
}
