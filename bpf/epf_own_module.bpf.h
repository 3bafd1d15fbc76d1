/* SPDX-License-Identifier: GPL-2.0 */
/* What epf.bpf.h promises, of filters of the module. */
#ifndef EPF_OWN_MODULE_BPF_H
#define EPF_OWN_MODULE_BPF_H

#include <linux/errno.h>

#include "epf_kfunc.bpf.h"

#define EPF_OWN_REFS 4 /* programs of one CPU that interrupt one another */
#define EPF_OWN_CPUS 65536

/**
 * struct epf_choice - context of epf_choose
 * @id: of a filter ('epfctl show -j'); 0: none
 */
struct epf_choice {
	__u32 id;
};

/* Only its owner may use a reference: who does takes it out and puts it back. */
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

/* bpf_loop() callback: 1 ends the walk, behind the last CPU or on error. */
static long epf_own_choose(__u32 cpu, struct epf_own_walk *walk)
{
	struct epf_own_ref *ref;
	struct epf_filter *f;
	__u32 i;

	for (i = 0; i < EPF_OWN_REFS; i++) {
		ref = bpf_map_lookup_percpu_elem(&epf_refs, &i, cpu);
		if (!ref)
			return 1;
		f = NULL;
		if (walk->id) {
			f = bpf_epf_acquire(walk->id);
			if (!f) {
				walk->ret = -ENOENT;
				return 1;
			}
		}
		f = bpf_kptr_xchg(&ref->filter, f);
		if (f)
			bpf_epf_release(f);
	}
	return 0;
}

/* Run once, while no program of the object runs. Return: 0, or -ENOENT. */
SEC("syscall")
int epf_choose(struct epf_choice *choice)
{
	struct epf_own_walk walk = { .id = choice->id };

	bpf_loop(EPF_OWN_CPUS, epf_own_choose, &walk, 0);
	return walk.ret;
}

static __always_inline struct epf_filter *epf_own_take(struct epf_own_ref **ref)
{
	struct epf_filter *f;
	__u32 i;

	for (i = 0; i < EPF_OWN_REFS; i++) {
		*ref = bpf_map_lookup_elem(&epf_refs, &i);
		if (!*ref)
			return NULL;
		f = bpf_kptr_xchg(&(*ref)->filter, NULL);
		if (f)
			return f;
	}
	return NULL;
}

static __always_inline void epf_own_put(struct epf_own_ref *ref,
					struct epf_filter *f)
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

static __always_inline int
epf_packet_test_and_insert(struct xdp_md *ctx, struct epf_pkt_opts *opts)
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

#endif /* EPF_OWN_MODULE_BPF_H */
