/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of epf.bpf.h for pure BPF filters. */
#ifndef EPF_OWN_INLINE_BPF_H
#define EPF_OWN_INLINE_BPF_H

#include "epf_packet.bpf.h"
#include "epf_inline.bpf.h"

/*
 * No element is ever used. The verifier rejects a program that may sleep and refers to a
 * map of this type, and no other program (check_map_prog_compatibility() in
 * kernel/bpf/verifier.c). A map of programs does not serve: one such map takes programs of
 * one type only, and newer kernels allow them in programs that may sleep.
 */
struct {
	__uint(type, BPF_MAP_TYPE_REUSEPORT_SOCKARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} epf_no_sleep SEC(".maps");

/* Slot of the contents, for one section. Return: EPF_BPF_SLOTS: there is none. */
static __always_inline __u32 epf_own_slot(struct epf_bpf_slot **slot)
{
	__asm__ volatile("" ::"r"(&epf_no_sleep));
	return epf_inline_slot(slot);
}

/* The digest is used only on the contents that it was made for, whatever is swapped
 * meanwhile.
 */
static __always_inline int epf_own_key(const void *key, __u32 len, __u64 *digest, __u32 *at)
{
	struct epf_bpf_slot *slot;

	if (!len || len > EPF_KEY_MAX)
		return -EINVAL;
	*at = epf_own_slot(&slot);
	if (*at == EPF_BPF_SLOTS)
		return -ENODEV;
	*digest = epf_digest(&slot->hash, key, len);
	return 0;
}

static __always_inline int epf_key_test(const void *key, __u32 len)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_key(key, len, &digest, &at);

	return err ? err : epf_inline_test(digest, at);
}

static __always_inline int epf_key_insert(const void *key, __u32 len)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_key(key, len, &digest, &at);

	return err ? err : epf_inline_insert(digest, at);
}

static __always_inline int epf_key_test_and_insert(const void *key, __u32 len)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_key(key, len, &digest, &at);

	return err ? err : epf_inline_test_and_insert(digest, at);
}

/* The same for a packet. */
static __always_inline int epf_own_packet(struct xdp_md *ctx, struct epf_pkt_opts *opts,
					  __u64 *digest, __u32 *at)
{
	struct epf_bpf_slot *slot;

	*at = epf_own_slot(&slot);
	if (*at == EPF_BPF_SLOTS)
		return -ENODEV;
	return epf_xdp_digest(ctx, &slot->hash, opts, digest);
}

static __always_inline int epf_packet_test(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_packet(ctx, opts, &digest, &at);

	return err ? err : epf_inline_test(digest, at);
}

static __always_inline int epf_packet_insert(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_packet(ctx, opts, &digest, &at);

	return err ? err : epf_inline_insert(digest, at);
}

static __always_inline int epf_packet_test_and_insert(struct xdp_md *ctx, struct epf_pkt_opts *opts)
{
	__u64 digest;
	__u32 at;
	int err = epf_own_packet(ctx, opts, &digest, &at);

	return err ? err : epf_inline_test_and_insert(digest, at);
}

#endif /* EPF_OWN_INLINE_BPF_H */
