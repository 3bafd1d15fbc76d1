// SPDX-License-Identifier: GPL-2.0
/*
 * What BPF programs call, with a reference of their own (kfunc_held.c: with a map). Thin
 * wrappers; the verifier has checked pointers and lengths. Nothing here sleeps or allocates;
 * filters of the owned kinds make it wait for a lock that is held for microseconds.
 *
 * Names and signatures stay; what is new gets a new name.
 *
 * Keys and options are memory that other programs, and user space by a mapped
 * map, may write during the call. Lengths come in registers. Options are copied
 * once (epf_pkt_opts_read()), and only the copy is looked at. A key that changes
 * while it is hashed has some digest, as any other key has; that one digest is
 * what the whole call works on, so test and insert are of the same key.
 *
 * Return values of everything that gives a verdict:
 *
 *   0        absent; for an insert: inserted
 *   1 + age  present; age in epochs since the key was last inserted
 *   -ENOSPC  do not know: the filter is saturated and fails open
 *   -ENODEV  do not know: the filter was destroyed by force
 *   -EINVAL  a length or option out of its range: nothing is known either
 *
 * What a program does with "do not know" is for it to say: one that drops repeats
 * lets the packet pass, as if the key were absent, and so does whoever compares
 * with "> 0"; one that lets in what is recent must not take that for "not recent"
 * without meaning it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"
#include "compat.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <net/xdp.h>

static __always_inline int do_lanes(struct epf_table *t,
				    const struct epf_lanes *lanes, u64 digest,
				    enum op op, const struct epf_journal *j)
{
	struct epf_probe p;

	epf_probe(lanes, digest, &p);
	if (op == OP_TEST)
		return epf_table_test(t, &p);
	if (op == OP_INSERT)
		return epf_table_insert(t, &p, j, digest);
	return epf_table_test_and_insert(t, &p, j, digest);
}

/* With L as a constant, so that the compiler keeps the probe in registers. */
static __always_inline int do_parts(struct epf_table *t, u64 digest,
				    enum op op, u16 parts,
				    const struct epf_journal *j)
{
	struct epf_lanes lanes = epf_table_lanes(t);

	lanes.geom.parts = parts;
	return do_lanes(t, &lanes, digest, op, j);
}

/* With what shape it has; those of which a journal is kept, too. */
static __always_inline int do_any(struct epf_table *t, u64 digest, enum op op)
{
	const struct epf_journal *j = epf_table_journal(t);

	switch (t->lanes.geom.parts) {
	case 1:
		return do_parts(t, digest, op, 1, j);
	case 2:
		return do_parts(t, digest, op, 2, j);
	default:
		return do_parts(t, digest, op, EPF_PARTS_MAX, j);
	}
}

/* All but plain filters, those of the owned kinds among them: out of the way. */
static noinline int test_aside(struct epf_table *t, u64 digest)
{
	if (t->owned)
		return epf_owned_test(t, digest);
	return do_any(t, digest, OP_TEST);
}

static noinline int insert_aside(struct epf_table *t, u64 digest)
{
	if (t->owned)
		return epf_owned_insert(t, digest);
	return do_any(t, digest, OP_INSERT);
}

static noinline int test_and_insert_aside(struct epf_table *t, u64 digest)
{
	if (t->owned)
		return epf_owned_test_and_insert(t, digest);
	return do_any(t, digest, OP_TEST_AND_INSERT);
}

static __always_inline int do_digest(struct epf_table *t, u64 digest,
				     enum op op)
{
	if (likely(READ_ONCE(t->plain)))
		return do_parts(t, digest, op, EPF_PARTS_MAX, NULL);
	if (op == OP_TEST)
		return test_aside(t, digest);
	if (op == OP_INSERT)
		return insert_aside(t, digest);
	return test_and_insert_aside(t, digest);
}

/**
 * epf_table_op() - one operation on a table of any kind
 * @t: table, found in the RCU section that the caller is in
 * @digest: under its hash key
 * @op: which
 *
 * Return: as the functions for BPF programs below.
 */
int epf_table_op(struct epf_table *t, u64 digest, enum op op)
{
	if (op == OP_TEST)
		return do_digest(t, digest, OP_TEST);
	if (op == OP_INSERT)
		return do_digest(t, digest, OP_INSERT);
	return do_digest(t, digest, OP_TEST_AND_INSERT);
}

static __always_inline int by_digest(struct epf_filter *f, u64 digest,
				     enum op op)
{
	struct epf_table *t;
	int ret = -ENODEV;

	rcu_read_lock(); /* a syscall program has no section of its own */
	t = rcu_dereference(f->table);
	if (likely(t))
		ret = do_digest(t, digest, op);
	rcu_read_unlock();
	return ret;
}

static __always_inline int by_key(struct epf_filter *f, const void *key,
				  u32 len, enum op op)
{
	struct epf_table *t;
	int ret = -ENODEV;

	if (unlikely(!len || len > EPF_KEY_MAX))
		return -EINVAL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (likely(t))
		ret = do_digest(t, epf_digest(&t->hash, key, len), op);
	rcu_read_unlock();
	return ret;
}

/* Fragments of @xdp behind its linear part, which @pkt has. Their list lies in
 * the packet's buffer, which may be user memory: it is read once and bounded.
 */
static noinline void add_frags(struct xdp_buff *xdp, struct epf_seg *seg,
			       struct epf_pkt *pkt)
{
	const struct skb_shared_info *sinfo =
		xdp_get_shared_info_from_buff(xdp);
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
 * epf_xdp_digest() - the digest of a packet
 * @h: hash key
 * @xdp: packet; fragments are read too
 * @opts: which bytes make it the same packet; checked here
 * @digest: result
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

	/* In XDP packets have no mark. */
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
		add_frags(xdp, seg, &pkt);
	return epf_pkt_digest_in(h, &pkt, opts, &scope, digest);
}

/* Any packet, with the stack frame that this takes. */
static noinline int xdp_test_and_insert(struct epf_table *t,
					struct xdp_buff *xdp,
					struct epf_pkt_opts opts)
{
	u64 digest;
	int err = 0;

	if (!epf_packet_plain(&t->hash, xdp->data, xdp->data_end - xdp->data,
			      &opts, &digest))
		err = epf_xdp_digest(&t->hash, xdp, &opts, &digest);
	return err ?: do_digest(t, digest, OP_TEST_AND_INSERT);
}

/* The caller is an XDP program, which runs with softirqs off: an RCU section
 * from before the program to after it.
 */
static __always_inline struct epf_table *xdp_table(struct epf_filter *f)
{
	return rcu_dereference_check(f->table, rcu_read_lock_bh_held());
}

/* As bpf_epf_xdp_test() and bpf_epf_xdp_insert(). @t: or NULL: destroyed. */
static int xdp_one(struct epf_table *t, struct xdp_md *ctx,
		   const struct epf_pkt_opts *opts, u32 opts__sz, enum op op)
{
	struct epf_pkt_opts o;
	u64 digest;
	int err;

	if (unlikely(!t))
		return -ENODEV;
	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	err = epf_xdp_digest(&t->hash, (struct xdp_buff *)ctx, &o, &digest);
	return err ?: do_digest(t, digest, op);
}

/* Is the caller one who may have any filter? Timers and work queues of a program
 * run in the context of nobody in particular, so they may not.
 */
static bool may_acquire(void)
{
	return in_task() && !(current->flags & PF_KTHREAD) &&
	       capable(CAP_NET_ADMIN);
}

/* At load time: syscall programs that call the module are loaded by somebody
 * who may have any filter, not by the holder of a BPF token. Else the callback
 * of a task work (6.18), which runs in the context of another task, could call
 * bpf_epf_acquire() with the capabilities of that one. Whatever the type of
 * @prog: an extension of a syscall program counts as one.
 */
static int __maybe_unused syscall_filter(const struct bpf_prog *prog,
					 u32 kfunc_id)
{
	return capable(CAP_NET_ADMIN) ? 0 : -EACCES;
}

__bpf_kfunc_start_defs();

/**
 * bpf_epf_acquire() - take a reference to a filter
 * @id: of the filter, as EPF_IOC_CREATE and EPF_IOC_LIST give it
 *
 * For syscall programs, which run in the context of whoever calls
 * BPF_PROG_TEST_RUN. They put the reference into a map (kptr), and programs of
 * all other types take it from there. Whoever has the map has the filter; ids
 * can be guessed, so by id CAP_NET_ADMIN in the initial user namespace is
 * needed, as for everything else that changes a filter.
 *
 * Return:
 * * a reference, to be given to bpf_epf_release() or stored as kptr
 * * NULL: there is none of that id, or the caller may not
 */
__bpf_kfunc struct epf_filter *bpf_epf_acquire(u32 id)
{
	return may_acquire() ? epf_filter_get_id(id) : NULL;
}

/**
 * bpf_epf_release() - give a reference back
 * @f: filter
 */
__bpf_kfunc void bpf_epf_release(struct epf_filter *f)
{
	epf_filter_put(f);
}

/* For maps that are freed with a reference in them. */
__bpf_kfunc void bpf_epf_release_dtor(void *f)
{
	epf_filter_put(f);
}
CFI_NOSEAL(bpf_epf_release_dtor);

/**
 * bpf_epf_test() - was the key inserted inside the window?
 * @f: filter
 * @key: bytes
 * @key__sz: 1 .. EPF_KEY_MAX
 *
 * Return:
 * * 0: absent
 * * 1 + age: present
 * * -ENOSPC: do not know, the filter is saturated
 * * -ENODEV: do not know, the filter was destroyed
 * * -EINVAL: @key__sz out of its range
 */
__bpf_kfunc int bpf_epf_test(struct epf_filter *f, const void *key,
			     u32 key__sz)
{
	return by_key(f, key, key__sz, OP_TEST);
}

/**
 * bpf_epf_insert() - insert a key
 * @f: filter
 * @key: bytes
 * @key__sz: 1 .. EPF_KEY_MAX
 *
 * Return:
 * * 0: inserted
 * * -ENODEV: do not know, the filter was destroyed
 * * -EINVAL: @key__sz out of its range
 */
__bpf_kfunc int bpf_epf_insert(struct epf_filter *f, const void *key,
			       u32 key__sz)
{
	return by_key(f, key, key__sz, OP_INSERT);
}

/**
 * bpf_epf_test_and_insert() - the verdict before, and the insert, as one
 * @f: filter
 * @key: bytes
 * @key__sz: 1 .. EPF_KEY_MAX
 *
 * Of concurrent sightings of one new key at least one is told absent, and
 * exactly one when no rotation falls between them.
 *
 * Return: as bpf_epf_test(). With -ENOSPC the key was inserted.
 */
__bpf_kfunc int bpf_epf_test_and_insert(struct epf_filter *f, const void *key,
					u32 key__sz)
{
	return by_key(f, key, key__sz, OP_TEST_AND_INSERT);
}

/**
 * bpf_epf_key_digest() - the digest of a key under the filter's hash key
 * @f: filter
 * @key: bytes
 * @key__sz: 1 .. EPF_KEY_MAX
 * @digest: result; good for this filter until its contents are swapped or
 *	restored
 *
 * Return:
 * * 0
 * * -ENODEV: do not know, the filter was destroyed
 * * -EINVAL: @key__sz out of its range
 */
__bpf_kfunc int bpf_epf_key_digest(struct epf_filter *f, const void *key,
				   u32 key__sz, u64 *digest)
{
	struct epf_table *t;
	int ret = -ENODEV;

	if (!key__sz || key__sz > EPF_KEY_MAX)
		return -EINVAL;
	rcu_read_lock();
	t = rcu_dereference(f->table);
	if (t) {
		*digest = epf_digest(&t->hash, key, key__sz);
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

/**
 * bpf_epf_test_digest() - as bpf_epf_test(), of a ready digest
 * @f: filter
 * @digest: from bpf_epf_key_digest(), bpf_epf_xdp_digest(), or any 64 bits
 *	that are hard to predict
 *
 * Return: as bpf_epf_test().
 */
__bpf_kfunc int bpf_epf_test_digest(struct epf_filter *f, u64 digest)
{
	return by_digest(f, digest, OP_TEST);
}

/**
 * bpf_epf_insert_digest() - as bpf_epf_insert(), of a ready digest
 * @f: filter
 * @digest: see bpf_epf_test_digest()
 *
 * Return: as bpf_epf_insert().
 */
__bpf_kfunc int bpf_epf_insert_digest(struct epf_filter *f, u64 digest)
{
	return by_digest(f, digest, OP_INSERT);
}

/**
 * bpf_epf_test_and_insert_digest() - as bpf_epf_test_and_insert()
 * @f: filter
 * @digest: see bpf_epf_test_digest()
 *
 * Return: as bpf_epf_test_and_insert().
 */
__bpf_kfunc int bpf_epf_test_and_insert_digest(struct epf_filter *f,
					       u64 digest)
{
	return by_digest(f, digest, OP_TEST_AND_INSERT);
}

/**
 * bpf_epf_xdp_digest() - the digest of a packet
 * @f: filter
 * @ctx: of an XDP program; fragments are read too
 * @opts: which bytes make it the same packet; the number that EPF_PKT_IFACE asks
 *	for is the index of the interface that received it
 * @opts__sz: sizeof(struct epf_pkt_opts)
 * @digest: result; see bpf_epf_key_digest()
 *
 * Return:
 * * 0
 * * -EINVAL: @opts or @opts__sz; EPF_PKT_MARK, since packets have no mark here
 * * -ENODATA: the packet ends before what the key needs
 * * -EBADMSG: a header contradicts itself
 * * -EPROTO: not IP, and the options ask to pass those
 * * -ENOMSG: a fragment but the first, and the options ask for ports
 *   (EPF_PKT_FIRST)
 * * -(EPF_CONTROL + enum epf_control): a control packet, and the options ask to
 *   pass those (EPF_PKT_PASS_CONTROL)
 * * -ENODEV: do not know, the filter was destroyed
 */
__bpf_kfunc int bpf_epf_xdp_digest(struct epf_filter *f, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts,
				   u32 opts__sz, u64 *digest)
{
	const struct epf_table *t = xdp_table(f);
	struct epf_pkt_opts o;

	if (unlikely(!t))
		return -ENODEV;
	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	return epf_xdp_digest(&t->hash, (struct xdp_buff *)ctx, &o, digest);
}

/**
 * bpf_epf_xdp_test_and_insert() - digest, verdict and insert in one call
 * @f: filter
 * @ctx: of an XDP program; fragments are read too
 * @opts: which bytes make it the same packet
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Return: as bpf_epf_xdp_digest() when that is negative, else as
 * bpf_epf_test_and_insert().
 */
__bpf_kfunc int bpf_epf_xdp_test_and_insert(struct epf_filter *f,
					    struct xdp_md *ctx,
					    const struct epf_pkt_opts *opts,
					    u32 opts__sz)
{
	struct xdp_buff *xdp = (struct xdp_buff *)ctx;
	struct epf_table *t = xdp_table(f);
	struct epf_pkt_opts o;
	u64 first, tail;

	if (unlikely(!t))
		return -ENODEV;
	if (unlikely(opts__sz != sizeof(o)))
		return -EINVAL;
	o = epf_pkt_opts_read(opts);
	if (!epf_flow_plain(xdp->data, xdp->data_end - xdp->data, &o, &first,
			    &tail))
		return xdp_test_and_insert(t, xdp, o);
	return do_digest(t, epf_digest_words(&t->hash, first, tail, 14),
			 OP_TEST_AND_INSERT);
}

/**
 * bpf_epf_xdp_test() - was a packet like this one inserted inside the window?
 * @f: filter
 * @ctx: of an XDP program; fragments are read too
 * @opts: which bytes make it the same packet
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Nothing is inserted, so a flood of packets that are only asked about fills no
 * filter.
 *
 * Return: as bpf_epf_xdp_digest() when that is negative, else as bpf_epf_test().
 */
__bpf_kfunc int bpf_epf_xdp_test(struct epf_filter *f, struct xdp_md *ctx,
				 const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return xdp_one(xdp_table(f), ctx, opts, opts__sz, OP_TEST);
}

/**
 * bpf_epf_xdp_insert() - insert a packet
 * @f: filter
 * @ctx: of an XDP program; fragments are read too
 * @opts: which bytes make it the same packet
 * @opts__sz: sizeof(struct epf_pkt_opts)
 *
 * Return: as bpf_epf_xdp_digest() when that is negative, else as bpf_epf_insert().
 */
__bpf_kfunc int bpf_epf_xdp_insert(struct epf_filter *f, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts, u32 opts__sz)
{
	return xdp_one(xdp_table(f), ctx, opts, opts__sz, OP_INSERT);
}

__bpf_kfunc_end_defs();

/* A module may register one set for a kind of program, so XDP, those of socket buffers,
 * netfilter and syscall have their own.
 */
#define COMMON_IDS							\
	BTF_ID_FLAGS(func, bpf_epf_release, KF_RELEASE)			\
	BTF_ID_FLAGS(func, bpf_epf_test, KF_TRUSTED_ARGS)		\
	BTF_ID_FLAGS(func, bpf_epf_insert, KF_TRUSTED_ARGS)		\
	BTF_ID_FLAGS(func, bpf_epf_test_and_insert, KF_TRUSTED_ARGS)	\
	BTF_ID_FLAGS(func, bpf_epf_key_digest, KF_TRUSTED_ARGS)		\
	BTF_ID_FLAGS(func, bpf_epf_test_digest, KF_TRUSTED_ARGS)	\
	BTF_ID_FLAGS(func, bpf_epf_insert_digest, KF_TRUSTED_ARGS)	\
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
BTF_KFUNCS_END(xdp_ids)

BTF_KFUNCS_START(skb_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_skb_test_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_skb_insert_held, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(skb_ids)

BTF_KFUNCS_START(nf_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_nf_test_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_nf_insert_held, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_epf_nf_set_mark, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(nf_ids)

BTF_KFUNCS_START(syscall_ids)
COMMON_IDS
BTF_ID_FLAGS(func, bpf_epf_acquire, KF_ACQUIRE | KF_RET_NULL)
BTF_KFUNCS_END(syscall_ids)

BTF_ID_LIST(dtor_ids)
BTF_ID(struct, epf_filter)
BTF_ID(func, bpf_epf_release_dtor)

static const struct btf_kfunc_id_set common_set = {
	.owner = THIS_MODULE,
	.set = &common_ids,
};

static const struct btf_kfunc_id_set xdp_set = {
	.owner = THIS_MODULE,
	.set = &xdp_ids,
};

static const struct btf_kfunc_id_set skb_set = {
	.owner = THIS_MODULE,
	.set = &skb_ids,
};

static const struct btf_kfunc_id_set nf_set = {
	.owner = THIS_MODULE,
	.set = &nf_ids,
};

static const struct btf_kfunc_id_set syscall_set = {
	.owner = THIS_MODULE,
	.set = &syscall_ids,
	EPF_KFUNC_FILTER(syscall_filter)
};

static int register_dtor(void)
{
	const struct btf_id_dtor_kfunc dtor = {
		.btf_id = dtor_ids[0],
		.kfunc_btf_id = dtor_ids[1],
	};

	return register_btf_id_dtor_kfuncs(&dtor, 1, THIS_MODULE);
}

/**
 * epf_kfunc_init() - make the functions known to the verifier
 *
 * Return: 0, also without BTF, which leaves the device only; or the error of
 * the registration. The verifier forgets them with the module's BTF.
 */
int epf_kfunc_init(void)
{
	if (!epf_module_has_btf(THIS_MODULE)) {
		pr_warn("no BTF in this module: BPF programs cannot use it; rebuild it with the kernel's vmlinux and pahole at hand\n");
		return 0;
	}
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_XDP, &xdp_set) ?:
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_SCHED_CLS, &skb_set) ?:
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_SYSCALL, &syscall_set) ?:
	       epf_register_sockets(&common_set, &skb_set, &nf_set) ?:
	       register_dtor();
}
