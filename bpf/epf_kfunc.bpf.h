/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel functions of epochfilter, for BPF programs: XDP, tc and syscall, and from 6.4
 * on also netfilter, cgroup_skb and socket filter. epf.bpf.h has simpler calls. Include
 * this and link with nothing: libbpf finds the functions in the module's BTF at load time.
 * They are declared weak, so that one object also loads where the module is absent, if it
 * checks bpf_ksym_exists() before each call.
 *
 * The verifier ensures that every acquired filter is released or put into a map, and that
 * none is used afterwards.
 *
 * A verdict is 0: absent, 1 + age: present (age in epochs, 0..7), or
 *
 *   -ENOSPC  do not know: the filter is saturated and fails open; an insertion took place
 *   -ENODEV  do not know: the filter was destroyed by force: drop the reference
 *   -EINVAL  a length, or options, out of range; in XDP, EPF_PKT_MARK: packets have no mark
 *
 * and from the packet forms also
 *
 *   -ENODATA  the packet ends before the bytes that the key needs
 *   -EBADMSG  a header contradicts itself
 *   -EPROTO  not IP, and the options say to pass such packets
 *   -ENOMSG  a fragment other than the first, and the options need ports
 *   -(EPF_CONTROL + enum epf_control)
 *            a control packet, and the options say to pass such packets
 *
 * A program that drops repeats should treat every negative value as "pass", as comparing
 * with "> 0" does. One that admits recent keys must not take it for "not recent" by
 * accident. An insertion without a test returns 0 or an error.
 */
#ifndef EPF_KFUNC_BPF_H
#define EPF_KFUNC_BPF_H

#ifndef __VMLINUX_H__
#include <linux/bpf.h>
#include <linux/types.h>
#endif
#include <bpf/bpf_helpers.h>

#include <linux/epochfilter.h>

/* Opaque. It is defined and not only declared, because BTF distinguishes the two. */
struct epf_filter {
	__u64 opaque;
};

/*
 * The type of a reference kept in a map value: `EPF_KPTR *filter;`, moved by
 * bpf_kptr_xchg(). 6.4 renamed the tag: build with -DEPF_KPTR_REF for older kernels. The
 * typedef is for clang 14, which loses the tag of a bare struct.
 */
typedef struct epf_filter epf_filter_t;
#ifdef EPF_KPTR_REF
#define EPF_KPTR epf_filter_t __attribute__((btf_type_tag("kptr_ref")))
#else
#define EPF_KPTR epf_filter_t __attribute__((btf_type_tag("kptr")))
#endif

/**
 * bpf_epf_acquire() - get a filter by its id
 * @id: of the filter
 *
 * Callers put the reference into a map (kptr), where programs of all other types take it:
 * access to the map gives access to the filter. Ids can be guessed, so access by id needs
 * CAP_NET_ADMIN in the initial user namespace, as every change of a filter does.
 * Context: syscall programs, in the task that calls BPF_PROG_TEST_RUN; never waits.
 * Return: a reference, for bpf_epf_release() or to be stored as kptr; NULL: there is no
 * filter with that id, or the caller lacks the capability.
 */
extern struct epf_filter *bpf_epf_acquire(__u32 id) __ksym __weak;

/**
 * bpf_epf_release() - drop a reference
 * @f: acquired filter, or one taken out of a map
 *
 * Context: any.
 */
extern void bpf_epf_release(struct epf_filter *f) __ksym __weak;

/**
 * bpf_epf_test() - is a key present?
 * @f: acquired filter
 * @key: bytes of the key
 * @key__sz: their number, 1 .. EPF_KEY_MAX
 *
 * Context: any; a locked kind waits for a lock that is held for microseconds. The same
 * holds for all functions below.
 * Return: a verdict, see above.
 */
extern int bpf_epf_test(struct epf_filter *f, const void *key, __u32 key__sz) __ksym __weak;

/**
 * bpf_epf_insert() - insert a key
 * @f: acquired filter
 * @key: bytes of the key
 * @key__sz: their number, 1 .. EPF_KEY_MAX
 *
 * Return: 0, -ENODEV, -EINVAL.
 */
extern int bpf_epf_insert(struct epf_filter *f, const void *key, __u32 key__sz) __ksym __weak;

/**
 * bpf_epf_test_and_insert() - is a key present? Insert it
 * @f: acquired filter
 * @key: bytes of the key
 * @key__sz: their number, 1 .. EPF_KEY_MAX
 *
 * When several CPUs see a new key at once, at least one of them gets "absent", and exactly
 * one if no rotation falls between them.
 * Return: a verdict.
 */
extern int bpf_epf_test_and_insert(struct epf_filter *f, const void *key,
				   __u32 key__sz) __ksym __weak;

/**
 * bpf_epf_since() - since when does the filter retain every key?
 * @f: acquired filter
 *
 * Call it after a verdict "absent". No key was then missed whose insertion into this filter
 * began later than the time that this returns, whoever has cleared, rotated, swapped or
 * restored the filter.
 * Return: time as of bpf_ktime_get_ns(), signed: it may be before boot; 2^63 - 1: not
 * certain for any time, or the filter was destroyed.
 */
extern __u64 bpf_epf_since(struct epf_filter *f) __ksym __weak;

/**
 * bpf_epf_key_digest() - compute the digest of a key, for the next three functions
 * @f: acquired filter
 * @key: bytes of the key
 * @key__sz: their number, 1 .. EPF_KEY_MAX
 * @digest: set
 *
 * It is valid until the contents of the filter are swapped or restored.
 * Return: 0, -ENODEV, -EINVAL.
 */
extern int bpf_epf_key_digest(struct epf_filter *f, const void *key, __u32 key__sz,
			      __u64 *digest) __ksym __weak;

/**
 * bpf_epf_test_digest() - as bpf_epf_test()
 * @f: acquired filter
 * @digest: of a key, or any 64 bits that are hard to predict
 *
 * Return: a verdict.
 */
extern int bpf_epf_test_digest(struct epf_filter *f, __u64 digest) __ksym __weak;

/**
 * bpf_epf_insert_digest() - as bpf_epf_insert()
 * @f: acquired filter
 * @digest: of a key, or any 64 bits that are hard to predict
 *
 * Return: 0 or -ENODEV.
 */
extern int bpf_epf_insert_digest(struct epf_filter *f, __u64 digest) __ksym __weak;

/**
 * bpf_epf_test_and_insert_digest() - as bpf_epf_test_and_insert()
 * @f: acquired filter
 * @digest: of a key, or any 64 bits that are hard to predict
 *
 * Return: a verdict.
 */
extern int bpf_epf_test_and_insert_digest(struct epf_filter *f, __u64 digest) __ksym __weak;

/**
 * bpf_epf_xdp_digest() - compute the digest of a packet, of its fragments too
 * @f: acquired filter
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 * @digest: set
 *
 * EPF_PKT_IFACE adds the index of the receiving interface. The verifier wants writable
 * memory for whatever a kernel function gets.
 * Context: XDP. The same holds for the next three functions.
 * Return: 0 or an error, see above.
 */
extern int bpf_epf_xdp_digest(struct epf_filter *f, struct xdp_md *ctx,
			      const struct epf_pkt_opts *opts, __u32 opts__sz,
			      __u64 *digest) __ksym __weak;

/**
 * bpf_epf_xdp_test() - is the key of a packet present?
 * @f: acquired filter
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * It inserts nothing, so a flood of packets that are only tested does not fill the filter.
 * Return: a verdict.
 */
extern int bpf_epf_xdp_test(struct epf_filter *f, struct xdp_md *ctx,
			    const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_xdp_insert() - insert the key of a packet
 * @f: acquired filter
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Return: 0 or an error.
 */
extern int bpf_epf_xdp_insert(struct epf_filter *f, struct xdp_md *ctx,
			      const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_xdp_test_and_insert() - is the key of a packet present? Insert it
 * @f: acquired filter
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Return: a verdict.
 */
extern int bpf_epf_xdp_test_and_insert(struct epf_filter *f, struct xdp_md *ctx,
				       const struct epf_pkt_opts *opts,
				       __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_xdp_test_held() - as bpf_epf_xdp_test(), for the filter that a map holds
 * @held__map: &map: an array, whose first value has the reference
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * The reference stays in the map, so any number of programs can use it at a time: use this
 * function and those below if one program may interrupt another. Linux 6.9 and later.
 * Context: XDP.
 * Return: as bpf_epf_xdp_test(); -ENODEV also if there is no filter in the map, for
 * packets that have a key.
 */
extern int bpf_epf_xdp_test_held(void *held__map, struct xdp_md *ctx,
				 const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_xdp_insert_held() - as bpf_epf_xdp_insert()
 * @held__map: &map: an array, whose first value has the reference
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Context: XDP.
 * Return: as bpf_epf_xdp_test_held().
 */
extern int bpf_epf_xdp_insert_held(void *held__map, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_xdp_test_and_insert_held() - as bpf_epf_xdp_test_and_insert()
 * @held__map: &map: an array, whose first value has the reference
 * @ctx: of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Context: XDP.
 * Return: as bpf_epf_xdp_test_held().
 */
extern int bpf_epf_xdp_test_and_insert_held(void *held__map, struct xdp_md *ctx,
					    const struct epf_pkt_opts *opts,
					    __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_skb_test_held() - is the key of a packet present?
 * @held__map: &map: an array, whose first value has the reference
 * @skb: context of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * EPF_PKT_IFACE adds the interface that the packet comes from or goes to.
 * Context: tc; and, from the network header on (EPF_LINK_IP), cgroup_skb.
 * Return: as bpf_epf_xdp_test_held().
 */
extern int bpf_epf_skb_test_held(void *held__map, struct __sk_buff *skb,
				 const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_skb_insert_held() - insert the key of a packet
 * @held__map: &map: an array, whose first value has the reference
 * @skb: context of the program
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Context: tc; and, from the network header on (EPF_LINK_IP), cgroup_skb.
 * Return: as bpf_epf_xdp_test_held().
 */
extern int bpf_epf_skb_insert_held(void *held__map, struct __sk_buff *skb,
				   const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_since_held() - as bpf_epf_since(), for the filter that a map holds
 * @held__map: &map: an array, whose first value has the reference
 *
 * Context: XDP, tc, cgroup_skb, netfilter.
 * Return: as bpf_epf_since(); 2^63 - 1 also if there is no filter in the map.
 */
extern __u64 bpf_epf_since_held(void *held__map) __ksym __weak;

/* The caller defines struct sk_buff, if only with some of its fields, or includes vmlinux.h: BTF
 * distinguishes a definition from a declaration.
 */
struct sk_buff;

/**
 * bpf_epf_nf_test_held() - is the key of a packet present?
 * @held__map: &map: an array, whose first value has the reference
 * @skb: of the context; its link is EPF_LINK_IP
 * @iface: for EPF_PKT_IFACE; the program chooses it, because the hook knows two
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Context: netfilter.
 * Return: as bpf_epf_xdp_test_held().
 */
extern int bpf_epf_nf_test_held(void *held__map, struct sk_buff *skb, __u32 iface,
				const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_nf_insert_held() - insert the key of a packet
 * @held__map: &map: an array, whose first value has the reference
 * @skb: of the context; its link is EPF_LINK_IP
 * @iface: for EPF_PKT_IFACE; the program chooses it, because the hook knows two
 * @opts: what the key is made of, in writable memory (stack, map value)
 * @opts__sz: its size
 *
 * Context: netfilter.
 * Return: as bpf_epf_xdp_test_held().
 */
extern int bpf_epf_nf_insert_held(void *held__map, struct sk_buff *skb, __u32 iface,
				  const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/**
 * bpf_epf_nf_set_mark() - change the mark of a packet
 * @skb: of the context, which these programs cannot write to
 * @value: of the bits of @mask
 * @mask: bits to write; the others do not change
 *
 * Context: netfilter.
 */
extern void bpf_epf_nf_set_mark(struct sk_buff *skb, __u32 value, __u32 mask) __ksym __weak;

#endif /* EPF_KFUNC_BPF_H */
