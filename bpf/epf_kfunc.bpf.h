/* SPDX-License-Identifier: GPL-2.0 */
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

/* A reference to filter @id, or NULL: there is none, or the caller lacks CAP_NET_ADMIN in
 * the initial user namespace. Only for syscall programs; they put it into a map, where
 * other programs take it.
 */
extern struct epf_filter *bpf_epf_acquire(__u32 id) __ksym __weak;
extern void bpf_epf_release(struct epf_filter *f) __ksym __weak;

/* @key: 1 .. EPF_KEY_MAX bytes. When several CPUs see a new key at once, at least one of
 * them gets "absent" from the third, and exactly one if no rotation falls between them.
 */
extern int bpf_epf_test(struct epf_filter *f, const void *key, __u32 key__sz) __ksym __weak;
extern int bpf_epf_insert(struct epf_filter *f, const void *key, __u32 key__sz) __ksym __weak;
extern int bpf_epf_test_and_insert(struct epf_filter *f, const void *key,
				   __u32 key__sz) __ksym __weak;

/* The digest that the three functions below take, valid until the contents of the filter
 * are swapped or restored. They also take any 64 bits that are hard to predict.
 */
extern int bpf_epf_key_digest(struct epf_filter *f, const void *key, __u32 key__sz,
			      __u64 *digest) __ksym __weak;
extern int bpf_epf_test_digest(struct epf_filter *f, __u64 digest) __ksym __weak;
extern int bpf_epf_insert_digest(struct epf_filter *f, __u64 digest) __ksym __weak;
extern int bpf_epf_test_and_insert_digest(struct epf_filter *f, __u64 digest) __ksym __weak;

/* XDP only; fragments are read too. EPF_PKT_IFACE adds the index of the receiving interface.
 * @opts must be writable memory (stack, map value): the verifier requires that of any memory
 * passed to a kernel function.
 */
extern int bpf_epf_xdp_digest(struct epf_filter *f, struct xdp_md *ctx,
			      const struct epf_pkt_opts *opts, __u32 opts__sz,
			      __u64 *digest) __ksym __weak;
extern int bpf_epf_xdp_test(struct epf_filter *f, struct xdp_md *ctx,
			    const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
extern int bpf_epf_xdp_insert(struct epf_filter *f, struct xdp_md *ctx,
			      const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
extern int bpf_epf_xdp_test_and_insert(struct epf_filter *f, struct xdp_md *ctx,
				       const struct epf_pkt_opts *opts,
				       __u32 opts__sz) __ksym __weak;

/* As above, for the filter that a map holds (&map: an array, whose first value has the
 * reference). The reference stays there, so any number of programs can use it at a time:
 * use these functions if one program may interrupt another. -ENODEV also if there is no
 * filter in the map, for packets that have a key. Linux 6.9 and later. The first three are
 * for XDP; the others for tc, and, from the network header on (EPF_LINK_IP), for
 * cgroup_skb.
 */
extern int bpf_epf_xdp_test_held(void *held__map, struct xdp_md *ctx,
				 const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
extern int bpf_epf_xdp_insert_held(void *held__map, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
extern int bpf_epf_xdp_test_and_insert_held(void *held__map, struct xdp_md *ctx,
					    const struct epf_pkt_opts *opts,
					    __u32 opts__sz) __ksym __weak;
extern int bpf_epf_skb_test_held(void *held__map, struct __sk_buff *skb,
				 const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
extern int bpf_epf_skb_insert_held(void *held__map, struct __sk_buff *skb,
				   const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;

/* The same at netfilter hooks: @skb is that of the context, and its link EPF_LINK_IP.
 * @iface: the interface for EPF_PKT_IFACE. The caller defines struct sk_buff, if only with
 * some of its fields, or includes vmlinux.h: BTF distinguishes a definition from a
 * declaration.
 */
struct sk_buff;
extern int bpf_epf_nf_test_held(void *held__map, struct sk_buff *skb, __u32 iface,
				const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
extern int bpf_epf_nf_insert_held(void *held__map, struct sk_buff *skb, __u32 iface,
				  const struct epf_pkt_opts *opts, __u32 opts__sz) __ksym __weak;
/* Write the bits of @mask in the packet's mark; the others do not change. */
extern void bpf_epf_nf_set_mark(struct sk_buff *skb, __u32 value, __u32 mask) __ksym __weak;

#endif /* EPF_KFUNC_BPF_H */
