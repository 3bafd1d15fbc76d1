/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of epf.bpf.h for filters of the module. */
#ifndef EPF_OWN_MODULE_BPF_H
#define EPF_OWN_MODULE_BPF_H

#include <linux/errno.h>

#include "epf_kfunc.bpf.h"

#define EPF_OWN_REFS 4 /* programs of one CPU that interrupt one another; epf_own_take() */
#define EPF_OWN_CPUS 65536

/**
 * struct epf_choice - context of epf_choose
 * @id: of a filter ('epfctl show -j')
 */
struct epf_choice {
	__u32 id;
};

/* Only the owner of a reference may use it: a program takes it out and puts it back. */
struct epf_own_ref {
	EPF_KPTR *filter;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EPF_OWN_REFS);
	__type(key, __u32);
	__type(value, struct epf_own_ref);
} epf_refs SEC(".maps");

struct epf_own_walk {
	__u32 id;
	int ret;
};

/* Put the filter into @ref. Return: of a bpf_loop() callback: 1 ends the walk, after the last
 * CPU or on error.
 */
static __always_inline long epf_own_fill(struct epf_own_ref *ref, struct epf_own_walk *walk)
{
	struct epf_filter *f;

	if (!ref)
		return 1;
	f = bpf_epf_acquire(walk->id);
	if (!f) {
		walk->ret = -ENOENT;
		return 1;
	}
	f = bpf_kptr_xchg(&ref->filter, f);
	if (f)
		bpf_epf_release(f);
	return 0;
}

/* Reference @n % EPF_OWN_REFS of each CPU. */
static long epf_own_choose(__u32 n, struct epf_own_walk *walk)
{
	__u32 at = n % EPF_OWN_REFS;

	return epf_own_fill(bpf_map_lookup_percpu_elem(&epf_refs, &at, n / EPF_OWN_REFS), walk);
}

/* Run once, while no program of the object runs. Return: 0, or -ENOENT. */
SEC("syscall")
int epf_choose(struct epf_choice *choice)
{
	struct epf_own_walk walk = { .id = choice->id };

	bpf_loop(EPF_OWN_CPUS * EPF_OWN_REFS, epf_own_choose, &walk, 0);
	return walk.ret;
}

static __always_inline struct epf_filter *epf_own_take_at(void *refs, __u32 at,
							  struct epf_own_ref **ref)
{
	*ref = bpf_map_lookup_elem(refs, &at);
	return *ref ? bpf_kptr_xchg(&(*ref)->filter, NULL) : NULL;
}

/* Not a loop: the verifier would not see that it ends, because keys are in memory. */
static __always_inline struct epf_filter *epf_own_take_of(void *refs, struct epf_own_ref **ref)
{
	struct epf_filter *f = epf_own_take_at(refs, 0, ref);

	if (!f)
		f = epf_own_take_at(refs, 1, ref);
	if (!f)
		f = epf_own_take_at(refs, 2, ref);
	if (!f)
		f = epf_own_take_at(refs, 3, ref);
	return f;
}

static __always_inline struct epf_filter *epf_own_take(struct epf_own_ref **ref)
{
	return epf_own_take_of(&epf_refs, ref);
}

static __always_inline void epf_own_put(struct epf_own_ref *ref, struct epf_filter *f)
{
	f = bpf_kptr_xchg(&ref->filter, f);
	if (f)
		bpf_epf_release(f);
}

static __always_inline int epf_key_test(const void *key, __u32 len)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take(&ref);
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_test(f, key, len);
	epf_own_put(ref, f);
	return ret;
}

static __always_inline int epf_key_insert(const void *key, __u32 len)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take(&ref);
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_insert(f, key, len);
	epf_own_put(ref, f);
	return ret;
}

static __always_inline int epf_key_test_and_insert(const void *key, __u32 len)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take(&ref);
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_test_and_insert(f, key, len);
	epf_own_put(ref, f);
	return ret;
}

static __always_inline int epf_packet_test_and_insert(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take(&ref);
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_xdp_test_and_insert(f, ctx, opts, sizeof(*opts));
	epf_own_put(ref, f);
	return ret;
}

static __always_inline int epf_packet_test(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take(&ref);
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_xdp_test(f, ctx, opts, sizeof(*opts));
	epf_own_put(ref, f);
	return ret;
}

static __always_inline int epf_packet_insert(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	struct epf_own_ref *ref;
	struct epf_filter *f = epf_own_take(&ref);
	int ret;

	if (!f)
		return -EBUSY;
	ret = bpf_epf_xdp_insert(f, ctx, opts, sizeof(*opts));
	epf_own_put(ref, f);
	return ret;
}

#endif /* EPF_OWN_MODULE_BPF_H */
