// SPDX-License-Identifier: GPL-2.0
/*
 * What BPF programs call. Thin wrappers; the verifier has checked pointers and
 * lengths. Nothing here sleeps or allocates; filters of the owned kinds make it
 * wait for a lock that is held for microseconds.
 *
 * Names and signatures stay; what is new gets a new name.
 *
 * Return values of everything that gives a verdict:
 *
 *   0        absent; for an insert: inserted
 *   1 + age  present; age in epochs since the key was last inserted
 *   -ENOSPC  absent, because the filter is saturated and fails open
 *   -ENODEV  the filter was destroyed by force: to be taken for absent
 *   -EINVAL  a length or option out of its range
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"
#include "compat.h"

#include <linux/filter.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/xdp.h>

enum op { OP_TEST, OP_INSERT, OP_TEST_AND_INSERT };

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

/* With one part, which then has no position more. */
static __always_inline int do_plain(struct epf_table *t, u64 digest,
				    enum op op)
{
	struct epf_lanes lanes = epf_table_lanes(t);

	lanes.geom.parts = 1;
	lanes.geom.more = 0;
	return do_lanes(t, &lanes, digest, op, NULL);
}

static __always_inline int do_parts(struct epf_table *t, u64 digest,
				    enum op op)
{
	struct epf_lanes lanes = epf_table_lanes(t);

	return do_lanes(t, &lanes, digest, op, epf_table_journal(t));
}

/* Filters with several lines per key, those of the owned kinds, which have no
 * parts, and those of which a journal is kept: out of the way of plain ones,
 * where the compiler keeps the probe in registers.
 */
static noinline int test_parts(struct epf_table *t, u64 digest)
{
	if (t->owned)
		return epf_owned_test(t, digest);
	return do_parts(t, digest, OP_TEST);
}

static noinline int insert_parts(struct epf_table *t, u64 digest)
{
	if (t->owned)
		return epf_owned_insert(t, digest);
	return do_parts(t, digest, OP_INSERT);
}

static noinline int test_and_insert_parts(struct epf_table *t, u64 digest)
{
	if (t->owned)
		return epf_owned_test_and_insert(t, digest);
	return do_parts(t, digest, OP_TEST_AND_INSERT);
}

static __always_inline int do_digest(struct epf_table *t, u64 digest,
				     enum op op)
{
	if (likely(READ_ONCE(t->plain)))
		return do_plain(t, digest, op);
	if (op == OP_TEST)
		return test_parts(t, digest);
	if (op == OP_INSERT)
		return insert_parts(t, digest);
	return test_and_insert_parts(t, digest);
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

/* Fragments of @xdp behind its linear part, which @pkt has. */
static noinline void add_frags(struct xdp_buff *xdp, struct epf_seg *seg,
			       struct epf_pkt *pkt)
{
	const struct skb_shared_info *sinfo =
		xdp_get_shared_info_from_buff(xdp);
	u32 i;

	for (i = 0; i < sinfo->nr_frags; i++) {
		seg[1 + i].data = skb_frag_address(&sinfo->frags[i]);
		seg[1 + i].len = skb_frag_size(&sinfo->frags[i]);
		pkt->len += seg[1 + i].len;
	}
	pkt->nr_segs += sinfo->nr_frags;
}

static int xdp_digest(const struct epf_table *t, struct xdp_buff *xdp,
		      const struct epf_pkt_opts *opts, u32 opts_size,
		      u64 *digest)
{
	struct epf_seg seg[1 + MAX_SKB_FRAGS];
	struct epf_pkt pkt;

	if (unlikely(opts_size != sizeof(*opts) || epf_pkt_opts_check(opts)))
		return -EINVAL;
	seg[0].data = xdp->data;
	seg[0].len = xdp->data_end - xdp->data;
	pkt.seg = seg;
	pkt.nr_segs = 1;
	pkt.len = seg[0].len;
	if (unlikely(xdp_buff_has_frags(xdp)))
		add_frags(xdp, seg, &pkt);
	return epf_pkt_digest(&t->hash, &pkt, opts, digest);
}

/* Any packet, with the stack frame that this takes. */
static noinline int xdp_test_and_insert(struct epf_table *t,
					struct xdp_buff *xdp,
					const struct epf_pkt_opts *opts,
					u32 opts_size)
{
	u64 digest;
	int err = xdp_digest(t, xdp, opts, opts_size, &digest);

	return err ?: do_digest(t, digest, OP_TEST_AND_INSERT);
}

/* The caller is an XDP program, which runs with softirqs off: an RCU section
 * from before the program to after it.
 */
static __always_inline struct epf_table *xdp_table(struct epf_filter *f)
{
	return rcu_dereference_check(f->table, rcu_read_lock_bh_held());
}

__bpf_kfunc_start_defs();

/**
 * bpf_epf_acquire() - take a reference to a filter
 * @id: of the filter, as EPF_IOC_CREATE and EPF_IOC_LIST give it
 *
 * Keep it in a map (kptr) rather than acquire it for every packet: the count
 * is one word for all CPUs.
 *
 * Return:
 * * a reference, to be given to bpf_epf_release() or stored as kptr
 * * NULL: there is none of that id
 */
__bpf_kfunc struct epf_filter *bpf_epf_acquire(u32 id)
{
	return epf_filter_get_id(id);
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
 * * -ENOSPC: absent, the filter is saturated
 * * -ENODEV: the filter was destroyed
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
 * * -ENODEV: the filter was destroyed
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
 * * -ENODEV: the filter was destroyed
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
 * @opts: which bytes make it the same packet
 * @opts__sz: sizeof(struct epf_pkt_opts)
 * @digest: result; see bpf_epf_key_digest()
 *
 * Return:
 * * 0
 * * -EINVAL: @opts or @opts__sz
 * * -ENODATA: the packet ends before what the key needs
 * * -EBADMSG: a header contradicts itself
 * * -EPROTO: not IP, and the options ask to pass those
 * * -ENODEV: the filter was destroyed
 */
__bpf_kfunc int bpf_epf_xdp_digest(struct epf_filter *f, struct xdp_md *ctx,
				   const struct epf_pkt_opts *opts,
				   u32 opts__sz, u64 *digest)
{
	const struct epf_table *t = xdp_table(f);

	if (unlikely(!t))
		return -ENODEV;
	return xdp_digest(t, (struct xdp_buff *)ctx, opts, opts__sz, digest);
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
	u64 first, tail;

	if (unlikely(!t))
		return -ENODEV;
	if (opts__sz != sizeof(*opts) ||
	    !epf_flow_plain(xdp->data, xdp->data_end - xdp->data, opts, &first,
			    &tail))
		return xdp_test_and_insert(t, xdp, opts, opts__sz);
	return do_digest(t, epf_digest_words(&t->hash, first, tail, 14),
			 OP_TEST_AND_INSERT);
}

__bpf_kfunc_end_defs();

/* A module may register one set for a kind of program, so XDP has its own. */
#define COMMON_IDS							\
	BTF_ID_FLAGS(func, bpf_epf_acquire, KF_ACQUIRE | KF_RET_NULL)	\
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
BTF_ID_FLAGS(func, bpf_epf_xdp_test_and_insert, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(xdp_ids)

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
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_SCHED_CLS,
					 &common_set) ?:
	       register_btf_kfunc_id_set(BPF_PROG_TYPE_SYSCALL, &common_set) ?:
	       epf_register_netfilter(&common_set) ?:
	       register_dtor();
}
