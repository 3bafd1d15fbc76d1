// SPDX-License-Identifier: GPL-2.0
/*
 * Recency of a flow's 14 bytes, natively: a filter without the module, and the
 * alternatives in BPF. Each program makes its key in the same way and counts in
 * the same way. Each has a second form, NAME_apart, which executes APART more
 * instructions first.
 */
#include <stdbool.h>

#include "../../bpf/epf_inline.bpf.h"

#include "ebpf.h"

struct key {
	__u64 first;
	__u64 tail;
};

struct bench_keys keys;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct key);
	__type(value, __u64);
} lru SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 1);
	__uint(map_extra, 13); /* hash functions, for an error of 1e-4 */
	__uint(key_size, 0);
	__uint(value_size, sizeof(struct key));
} bloom SEC(".maps");

/* A bijection of the numbers up to @mask that separates neighbours. */
static __always_inline __u64 disorder(__u64 n)
{
	n = n * 0x9e3779b1 & keys.mask;
	n ^= n >> (keys.half & 63);
	return n * 0x85ebca6b & keys.mask;
}

static __always_inline struct key next_key(void)
{
	__u64 n = keys.runs++, v;
	struct key k;

	if (keys.mask)
		n = disorder(n);
	v = epf_word(keys.first + n, 1); /* a bijection */
	k.first = v;
	k.tail = v >> 20 & 0xffffffffffff;
	return k;
}

static __always_inline int ask_null(void)
{
	struct key k = next_key();

	__asm__ volatile("" ::"r"(&k) : "memory");
	return XDP_PASS;
}

static __always_inline int ask_epf(void)
{
	struct key k = next_key();
	struct epf_bpf_slot *slot;
	__u32 at = epf_inline_slot(&slot);
	int ret;

	if (at == EPF_BPF_SLOTS)
		return XDP_ABORTED;
	ret = epf_inline_test_and_insert(epf_digest_words(&slot->hash, k.first, k.tail, 14), at);
	keys.found += ret > 0;
	keys.unknown += ret < 0;
	return XDP_PASS;
}

static __always_inline int ask_lru(void)
{
	__u64 now = 1;
	struct key k = next_key();

	if (bpf_map_lookup_elem(&lru, &k))
		keys.found++;
	else
		bpf_map_update_elem(&lru, &k, &now, BPF_ANY);
	return XDP_PASS;
}

static __always_inline int ask_bloom(void)
{
	struct key k = next_key();

	if (!bpf_map_peek_elem(&bloom, &k))
		keys.found++;
	else
		bpf_map_push_elem(&bloom, &k, BPF_ANY);
	return XDP_PASS;
}

/* APART instructions that neither depend on a key nor access memory, in four chains. */
static __always_inline void work(void)
{
	__u64 a = 1, b = 2, c = 3, d = 4;
	int i;

	_Pragma("unroll")
	for (i = 0; i < APART / 4; i++)
		__asm__ volatile("%0 += 3\n\t%1 += 5\n\t%2 ^= 7\n\t%3 += 9"
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
}

/* The two programs of what ask_@what() does. */
#define BENCH(what)                                  \
	SEC("xdp")                                   \
	int bench_##what(struct xdp_md *ctx)         \
	{                                            \
		return ask_##what();                 \
	}                                            \
                                                     \
	SEC("xdp")                                   \
	int bench_##what##_apart(struct xdp_md *ctx) \
	{                                            \
		work();                              \
		return ask_##what();                 \
	}

BENCH(null)
BENCH(epf)
BENCH(lru)
BENCH(bloom)

char _license[] SEC("license") = "GPL";
