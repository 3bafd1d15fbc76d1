// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for BPF programs that own a reference (kfunc_held.c: whose reference stays in its map).
 * They are thin wrappers; the verifier has checked pointers and lengths. Nothing here sleeps or
 * allocates. Calls on the locked kinds wait for a lock that is held for microseconds. Names and
 * signatures never change; new behaviour gets a new name. Kernel-doc: bpf/epf_kfunc.bpf.h.
 *
 * Keys and options lie in memory that others may write during the call. Lengths are passed in
 * registers. Options are copied once (epf_pkt_opts_read()), and only the copy is used. A key that
 * changes while it is hashed gets some digest, which the whole call uses.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "kfunc.h"
#include "compat.h"
#include "kind.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <net/xdp.h>

/* One or two lines a key, a journal, or a locked kind. */
static __always_inline int epf_kfunc_do_any(struct epf_table *t, u64 digest, enum op op)
{
	const struct epf_journal *j = epf_table_journal(t);

	if (t->locked)
		return t->ops->op[op](t, digest);
	switch (t->lanes.geom.parts) {
	case 1:
		return epf_kfunc_do_parts(t, digest, op, 1, j);
	case 2:
		return epf_kfunc_do_parts(t, digest, op, 2, j);
	default:
		return epf_kfunc_do_parts(t, digest, op, EPF_PARTS_MAX, j);
	}
}

/**
 * epf_kfunc_test_aside() - bpf_epf_test() of a filter that is not plain
 * @t: table
 * @digest: of the key
 *
 * Out of line: the usual path needs no stack frame.
 *
 * Context: the RCU section in which the caller found the table.
 * Return: as epf_table_op().
 */
noinline int epf_kfunc_test_aside(struct epf_table *t, u64 digest)
{
	return epf_kfunc_do_any(t, digest, OP_TEST);
}

/**
 * epf_kfunc_insert_aside() - bpf_epf_insert() of a filter that is not plain
 * @t: table
 * @digest: of the key
 *
 * Out of line: the usual path needs no stack frame.
 *
 * Context: the RCU section in which the caller found the table.
 * Return: as epf_table_op().
 */
noinline int epf_kfunc_insert_aside(struct epf_table *t, u64 digest)
{
	return epf_kfunc_do_any(t, digest, OP_INSERT);
}

/**
 * epf_kfunc_test_and_insert_aside() - bpf_epf_test_and_insert() of a filter that is not plain
 * @t: table
 * @digest: of the key
 *
 * Out of line: the usual path needs no stack frame.
 *
 * Context: the RCU section in which the caller found the table.
 * Return: as epf_table_op().
 */
noinline int epf_kfunc_test_and_insert_aside(struct epf_table *t, u64 digest)
{
	return epf_kfunc_do_any(t, digest, OP_TEST_AND_INSERT);
}

/**
 * epf_table_op() - perform one operation on a table of any kind
 * @t: table
 * @digest: of the key
 * @op: which
 *
 * Context: the RCU section in which the caller found the table.
 * Return: the verdict, see above.
 */
int epf_table_op(struct epf_table *t, u64 digest, enum op op)
{
	if (op == OP_TEST)
		return epf_kfunc_do_digest(t, digest, OP_TEST);
	if (op == OP_INSERT)
		return epf_kfunc_do_digest(t, digest, OP_INSERT);
	return epf_kfunc_do_digest(t, digest, OP_TEST_AND_INSERT);
}
EPF_EXPORT(epf_table_op);

/**
 * epf_table_since() - as epf_state_since(), for a table of any kind
 * @t: table; NULL: there is none
 *
 * Context: an RCU section; a locked kind waits for its lock.
 * Return: time, CLOCK_MONOTONIC in ns; EPF_BEGAN_NEVER: no table.
 */
u64 epf_table_since(struct epf_table *t)
{
	unsigned long flags;
	u64 since;

	if (!t)
		return EPF_BEGAN_NEVER;
	if (!t->locked)
		return t->ops->since(t);
	epf_table_lock(t, &flags);
	since = t->ops->since(t);
	epf_table_unlock(t, flags);
	return since;
}

static __always_inline int epf_kfunc_by_digest(struct epf_filter *f, u64 digest, enum op op)
{
	struct epf_table *t;
	int ret = -ENODEV;

	rcu_read_lock(); /* a syscall program has no RCU section of its own */
	t = rcu_dereference(f->table);
	if (likely(t))
		ret = epf_kfunc_do_digest(t, digest, op);
	rcu_read_unlock();
	return ret;
}

static __always_inline int epf_kfunc_by_key(struct epf_filter *f, const void *key, u32 len,
					    enum op op)
{
	struct epf_table *t;
	int ret = -ENODEV;

	if (unlikely(!len || len > EPF_KEY_MAX))
		return -EINVAL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (likely(t)) {
		/* The key may be in a map that others write: any digest will do. */
		u64 digest = data_race(epf_digest(&t->hash, key, len));

		ret = epf_kfunc_do_digest(t, digest, op);
	}
	rcu_read_unlock();
	return ret;
}

/* Add the fragments of @xdp to @pkt, which has the linear part. Their list lies in the packet's
 * buffer, which may be user memory, so it is read once and bounded.
 */
static noinline void epf_kfunc_add_frags(struct xdp_buff *xdp, struct epf_seg *seg,
					 struct epf_pkt *pkt)
{
	const struct skb_shared_info *sinfo = xdp_get_shared_info_from_buff(xdp);
	u32 nr = min_t(u32, READ_ONCE(sinfo->nr_frags), MAX_SKB_FRAGS);
	u32 i;

	for (i = 0; i < nr; i++) {
		seg[1 + i].data = skb_frag_address(&sinfo->frags[i]);
		seg[1 + i].len = skb_frag_size(&sinfo->frags[i]);
		pkt->len += seg[1 + i].len;
	}
	pkt->nr_segs += nr;
}

/**
 * epf_xdp_digest() - compute the digest of a packet in an XDP program
 * @h: hash key
 * @xdp: packet
 * @opts: what of it is the key, checked here
 * @digest: set on success
 *
 * Context: an XDP program.
 * Return: 0, or as bpf_epf_xdp_digest().
 */
noinline int epf_xdp_digest(const struct epf_hash *h, struct xdp_buff *xdp,
			    const struct epf_pkt_opts *opts, u64 *digest)
{
	struct epf_seg seg[1 + MAX_SKB_FRAGS];
	struct epf_pkt_scope scope = { 0, 0 };
	struct epf_pkt pkt;

	/* Packets have no mark in XDP. */
	if (unlikely(epf_pkt_opts_check(opts) || (opts->flags & EPF_PKT_MARK)))
		return -EINVAL;
	if (opts->flags & EPF_PKT_IFACE)
		scope.iface = xdp->rxq->dev->ifindex;
	seg[0].data = xdp->data;
	seg[0].len = xdp->data_end - xdp->data;
	pkt.seg = seg;
	pkt.nr_segs = 1;
	pkt.len = seg[0].len;
	if (unlikely(xdp_buff_has_frags(xdp)))
		epf_kfunc_add_frags(xdp, seg, &pkt);
	return epf_pkt_digest_in(h, &pkt, opts, &scope, digest);
}

static __always_inline int epf_kfunc_do_packet(struct epf_table *t, struct xdp_buff *xdp,
					       const struct epf_pkt_opts *opts, enum op op)
{
	u64 digest;
	int err = 0;

	if (!epf_packet_plain(&t->hash, xdp->data, xdp->data_end - xdp->data, opts, &digest))
		err = epf_xdp_digest(&t->hash, xdp, opts, &digest);
	return err ?: epf_kfunc_do_digest(t, digest, op);
}

/**
 * epf_kfunc_xdp_test_aside() - bpf_epf_xdp_test() of a packet that is no plain flow
 * @t: table
 * @xdp: packet
 * @opts: what of it is the key, checked here
 *
 * Out of line for its stack frame.
 *
 * Context: the RCU section in which the caller found the table.
 * Return: the verdict, or as bpf_epf_xdp_digest().
 */
noinline int epf_kfunc_xdp_test_aside(struct epf_table *t, struct xdp_buff *xdp,
				      struct epf_pkt_opts opts)
{
	return epf_kfunc_do_packet(t, xdp, &opts, OP_TEST);
}

/**
 * epf_kfunc_xdp_insert_aside() - bpf_epf_xdp_insert() of a packet that is no plain flow
 * @t: table
 * @xdp: packet
 * @opts: what of it is the key, checked here
 *
 * Out of line for its stack frame.
 *
 * Context: the RCU section in which the caller found the table.
 * Return: the verdict, or as bpf_epf_xdp_digest().
 */
noinline int epf_kfunc_xdp_insert_aside(struct epf_table *t, struct xdp_buff *xdp,
					struct epf_pkt_opts opts)
{
	return epf_kfunc_do_packet(t, xdp, &opts, OP_INSERT);
}

/**
 * epf_kfunc_xdp_test_and_insert_aside() - as epf_kfunc_xdp_test_aside()
 * @t: table
 * @xdp: packet
 * @opts: what of it is the key, checked here
 *
 * Out of line for its stack frame.
 *
 * Context: the RCU section in which the caller found the table.
 * Return: the verdict, or as bpf_epf_xdp_digest().
 */
noinline int epf_kfunc_xdp_test_and_insert_aside(struct epf_table *t, struct xdp_buff *xdp,
						 struct epf_pkt_opts opts)
{
	return epf_kfunc_do_packet(t, xdp, &opts, OP_TEST_AND_INSERT);
}

/* An XDP program runs with softirqs off, which is an RCU section around all of it. */
static __always_inline struct epf_table *epf_kfunc_xdp_table(struct epf_filter *f)
{
	return rcu_dereference_check(f->table, rcu_read_lock_bh_held());
}

/* As bpf_epf_xdp_digest(). @t: NULL if the filter was destroyed. */
static __always_inline int epf_kfunc_xdp_digest(const struct epf_table *t, struct xdp_md *ctx,
						const struct epf_pkt_opts *opts, u32 opts__sz,
						u64 *digest)
{
	struct epf_pkt_opts o;

	if (unlikely(!t))
		return -ENODEV;
	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	return epf_xdp_digest(&t->hash, (struct xdp_buff *)ctx, &o, digest);
}

/* As bpf_epf_xdp_test(). */
static __always_inline int epf_kfunc_xdp_owned(struct epf_filter *f, struct xdp_md *ctx,
					       const struct epf_pkt_opts *opts, u32 opts__sz,
					       enum op op)
{
	struct epf_table *t = epf_kfunc_xdp_table(f);
	struct epf_pkt_opts o;

	if (unlikely(!t))
		return -ENODEV;
	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	return epf_kfunc_do_xdp(t, (struct xdp_buff *)ctx, &o, op);
}

/* May the caller acquire any filter? Timers and work queues of a program run in any task. */
static bool epf_kfunc_may_acquire(void)
{
	return in_task() && !(current->flags & PF_KTHREAD) && capable(CAP_NET_ADMIN);
}

/* Called at load time: only a task that may acquire any filter can load syscall programs that call
 * the module; the holder of a BPF token cannot. Otherwise the callback of a task work (6.18), which
 * runs in the context of another task, could call bpf_epf_acquire() with the capabilities of that
 * task. The type of @prog does not matter: an extension of a syscall program counts as one.
 */
static int __maybe_unused epf_kfunc_syscall_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	return capable(CAP_NET_ADMIN) ? 0 : -EACCES;
}

__bpf_kfunc_start_defs();

__bpf_kfunc struct epf_filter *bpf_epf_acquire(u32 id)
{
	return epf_kfunc_may_acquire() ? epf_filter_get_id(id) : NULL;
}

__bpf_kfunc void bpf_epf_release(struct epf_filter *f)
{
	epf_filter_put(f);
}

/**
 * bpf_epf_release_dtor() - drop a reference in a map that is freed
 * @f: filter that the map has
 *
 * Context: any; never waits.
 */
__bpf_kfunc void bpf_epf_release_dtor(void *f)
{
	epf_filter_put(f);
}
CFI_NOSEAL(bpf_epf_release_dtor);

__bpf_kfunc int bpf_epf_test(struct epf_filter *f, const void *key, u32 key__sz)
{
	return epf_kfunc_by_key(f, key, key__sz, OP_TEST);
}

__bpf_kfunc int bpf_epf_insert(struct epf_filter *f, const void *key, u32 key__sz)
{
	return epf_kfunc_by_key(f, key, key__sz, OP_INSERT);
}

__bpf_kfunc int bpf_epf_test_and_insert(struct epf_filter *f, const void *key, u32 key__sz)
{
	return epf_kfunc_by_key(f, key, key__sz, OP_TEST_AND_INSERT);
}

__bpf_kfunc u64 bpf_epf_since(struct epf_filter *f)
{
	u64 since;

	rcu_read_lock();
	smp_rmb(); /* as bpf_epf_since_held() */
	since = epf_table_since(rcu_dereference(f->table));
	rcu_read_unlock();
	return since;
}

__bpf_kfunc int bpf_epf_key_digest(struct epf_filter *f, const void *key, u32 key__sz, u64 *digest)
{
	struct epf_table *t;

	if (!key__sz || key__sz > EPF_KEY_MAX)
		return -EINVAL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (t)
		/* The key may be in a map that others write. */
		*digest = data_race(epf_digest(&t->hash, key, key__sz));
	rcu_read_unlock();
	return t ? 0 : -ENODEV;
}

__bpf_kfunc int bpf_epf_test_digest(struct epf_filter *f, u64 digest)
{
	return epf_kfunc_by_digest(f, digest, OP_TEST);
}

__bpf_kfunc int bpf_epf_insert_digest(struct epf_filter *f, u64 digest)
{
	return epf_kfunc_by_digest(f, digest, OP_INSERT);
}

__bpf_kfunc int bpf_epf_test_and_insert_digest(struct epf_filter *f, u64 digest)
{
	return epf_kfunc_by_digest(f, digest, OP_TEST_AND_INSERT);
}

__bpf_kfunc int bpf_epf_xdp_digest(struct epf_filter *f, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts, u32 opts__sz, u64 *digest)
{
	return epf_kfunc_xdp_digest(epf_kfunc_xdp_table(f), ctx, opts, opts__sz, digest);
}

__bpf_kfunc int bpf_epf_xdp_test_and_insert(struct epf_filter *f, struct xdp_md *ctx,
					    const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_xdp_owned(f, ctx, opts, opts__sz, OP_TEST_AND_INSERT);
}

__bpf_kfunc int bpf_epf_xdp_test(struct epf_filter *f, struct xdp_md *ctx,
				 const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_xdp_owned(f, ctx, opts, opts__sz, OP_TEST);
}

__bpf_kfunc int bpf_epf_xdp_insert(struct epf_filter *f, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return epf_kfunc_xdp_owned(f, ctx, opts, opts__sz, OP_INSERT);
}

__bpf_kfunc_end_defs();

/* A module may register only one set for each type of program. */
#define COMMON_IDS                                                   \
	BTF_ID_FLAGS(func, bpf_epf_release, KF_RELEASE)              \
	BTF_ID_FLAGS(func, bpf_epf_test, KF_TRUSTED_ARGS)            \
	BTF_ID_FLAGS(func, bpf_epf_insert, KF_TRUSTED_ARGS)          \
	BTF_ID_FLAGS(func, bpf_epf_test_and_insert, KF_TRUSTED_ARGS) \
	BTF_ID_FLAGS(func, bpf_epf_since, KF_TRUSTED_ARGS)           \
	BTF_ID_FLAGS(func, bpf_epf_key_digest, KF_TRUSTED_ARGS)      \
	BTF_ID_FLAGS(func, bpf_epf_test_digest, KF_TRUSTED_ARGS)     \
	BTF_ID_FLAGS(func, bpf_epf_insert_digest, KF_TRUSTED_ARGS)   \
	BTF_ID_FLAGS(func, bpf_epf_test_and_insert_digest, KF_TRUSTED_ARGS)

BTF_KFUNCS_START(common_ids)
COMMON_IDS
BTF_KFUNCS_END(common_ids)

BTF_KFUNCS_START(xdp_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_xdp_digest, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_xdp_test, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_xdp_insert, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_xdp_test_and_insert, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_xdp_test_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_xdp_insert_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_xdp_test_and_insert_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_since_held, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(xdp_ids)

BTF_KFUNCS_START(skb_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_skb_test_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_skb_insert_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_since_held, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(skb_ids)

BTF_KFUNCS_START(nf_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_nf_test_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_nf_insert_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_since_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_nf_set_mark, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(nf_ids)

BTF_KFUNCS_START(syscall_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_acquire, KF_ACQUIRE | KF_RET_NULL)
BTF_KFUNCS_END(syscall_ids)

BTF_ID_LIST(dtor_ids)
BTF_ID(struct, epf_filter)
BTF_ID(func, bpf_epf_release_dtor)

/* clang-format off */
#define ID_SET(_name, ...) \
	static const struct btf_kfunc_id_set _name##_set = { \
		.owner = THIS_MODULE, .set = &_name##_ids, __VA_ARGS__ }

ID_SET(common);
ID_SET(xdp);
ID_SET(skb);
ID_SET(nf);
ID_SET(syscall, EPF_KFUNC_FILTER(epf_kfunc_syscall_filter));
/* clang-format on */

/**
 * epf_kfunc_init() - register the functions; the module's BTF keeps the registration
 * Return: 0, also without BTF: only the device works then; or an error of the registration.
 */
int epf_kfunc_init(void)
{
	const struct btf_id_dtor_kfunc dtor = { .btf_id = dtor_ids[0],
						.kfunc_btf_id = dtor_ids[1] };
	int err;

	if (!epf_module_has_btf(THIS_MODULE)) {
		pr_warn("this module has no BTF, so BPF programs cannot use it; rebuild it with pahole and the kernel's vmlinux\n");
		return 0;
	}
	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_XDP, &xdp_set);
	err = err ?: register_btf_kfunc_id_set(BPF_PROG_TYPE_SCHED_CLS, &skb_set);
	err = err ?: register_btf_kfunc_id_set(BPF_PROG_TYPE_SYSCALL, &syscall_set);
	err = err ?: epf_register_sockets(&common_set, &skb_set, &nf_set);
	return err ?: register_btf_id_dtor_kfuncs(&dtor, 1, THIS_MODULE);
}
