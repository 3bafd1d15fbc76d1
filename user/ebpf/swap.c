// SPDX-License-Identifier: GPL-2.0
/*
 * Two filters exchange their contents: each gets the other's, words and lines, in
 * the slot that it does not use, then both change over. Lines have one word for
 * their epoch at a time: that of the filter which is locked and ends no epoch until
 * all programs have left the old slots (bpf_map_delete_elem() of a map of maps
 * waits for them). What they counted there meanwhile is added then.
 *
 * Who is killed between the two changes leaves @half set in both, see epf/bpf.h.
 */
#include "calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static __u32 free_slot(const struct ebpf_filter *f)
{
	return f->shared->active ^ 1;
}

static struct epf_bpf_cpu *cpus_of(const struct ebpf_filter *f, __u32 slot)
{
	return &f->cpu[(__u64)slot * f->shared->cpus];
}

static const char *lines_of(__u32 slot)
{
	return slot ? "lines1" : "lines0";
}

/* The contents of @from into the free slot of @to. */
static int give(struct ebpf_filter *to, const struct ebpf_filter *from)
{
	__u32 slot = free_slot(to), theirs = from->shared->active;
	int fd = bpf_obj_get(ebpf_path(from->name, lines_of(theirs)).text);
	int ret = 0;

	if (fd < 0)
		return -errno;
	unlink(ebpf_path(to->name, lines_of(slot)).text);
	if (bpf_map_update_elem(to->lines, &slot, &fd, BPF_ANY) ||
	    bpf_obj_pin(fd, ebpf_path(to->name, lines_of(slot)).text))
		ret = -errno;
	close(fd);
	memcpy(cpus_of(to, slot), cpus_of(from, theirs),
	       from->shared->cpus * sizeof(*from->cpu));
	to->shared->slot[slot] = from->shared->slot[theirs];
	/* Who ends epochs, and until when, is the filter's. */
	epf_store_release(&to->shared->slot[slot].until,
			  to->shared->slot[slot ^ 1].until);
	return ret;
}

static void take_back(struct ebpf_filter *to)
{
	__u32 slot = free_slot(to);

	unlink(ebpf_path(to->name, lines_of(slot)).text);
	bpf_map_delete_elem(to->lines, &slot);
}

static void change_over(struct ebpf_filter *a, struct ebpf_filter *b)
{
	__atomic_store_n(&a->shared->half, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->shared->half, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&a->shared->active, free_slot(a), __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->shared->active, free_slot(b), __ATOMIC_SEQ_CST);
	__atomic_store_n(&a->shared->half, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->shared->half, 0, __ATOMIC_SEQ_CST);
}

/* What was counted in the old slot of @from since it held @keys belongs to @to. */
static void add_late(struct ebpf_filter *to, const struct ebpf_filter *from,
		     __u64 keys)
{
	struct epf_bpf_slot *s = ebpf_slot(to);
	__u64 late = ebpf_keys(from, free_slot(from)) - keys;

	s->base_keys += late;
	epf_fetch_add(&s->keys, late);
}

static int swap_locked(struct ebpf_filter *a, struct ebpf_filter *b)
{
	__u64 of_a = ebpf_keys(a, a->shared->active);
	__u64 of_b = ebpf_keys(b, b->shared->active);
	int ret = give(a, b);

	if (!ret)
		ret = give(b, a);
	if (!ret)
		change_over(a, b);
	take_back(a); /* waits for programs */
	take_back(b);
	if (!ret) {
		add_late(b, a, of_a);
		add_late(a, b, of_b);
	}
	return ret;
}

static int open_both(const struct epf_swap *args, struct ebpf_filter **a,
		     struct ebpf_filter **b)
{
	int ret = ebpf_open(args->a.name, a);

	if (ret)
		return ret;
	ret = ebpf_open(args->b.name, b);
	if (ret)
		ebpf_close(*a);
	return ret;
}

/* In the order of their names, so that nobody waits in a circle. */
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
