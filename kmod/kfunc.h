/* SPDX-License-Identifier: GPL-2.0 */
/* The path that plain filters and plain packets take, inline in each function for BPF programs. */
#ifndef EPF_KFUNC_H
#define EPF_KFUNC_H

#include "filter.h"

#include <net/xdp.h>

/* kfunc.c: the paths out of line */
int epf_kfunc_test_aside(struct epf_table *t, u64 digest);
int epf_kfunc_insert_aside(struct epf_table *t, u64 digest);
int epf_kfunc_test_and_insert_aside(struct epf_table *t, u64 digest);
int epf_kfunc_xdp_test_aside(struct epf_table *t, struct xdp_buff *xdp, struct epf_pkt_opts opts);
int epf_kfunc_xdp_insert_aside(struct epf_table *t, struct xdp_buff *xdp, struct epf_pkt_opts opts);
int epf_kfunc_xdp_test_and_insert_aside(struct epf_table *t, struct xdp_buff *xdp,
					struct epf_pkt_opts opts);

/* L is a constant here, so that the compiler keeps the probe in registers. */
static __always_inline int epf_kfunc_do_parts(struct epf_table *t, u64 digest, enum op op,
					      u16 parts, const struct epf_journal *j)
{
	struct epf_lanes lanes = epf_table_lanes(t);
	struct epf_probe p;

	lanes.geom.parts = parts;
	epf_probe(&lanes, digest, &p);
	if (op == OP_TEST)
		return epf_table_test(t, &p);
	if (op == OP_INSERT)
		return epf_table_insert(t, &p, j, digest);
	return epf_table_test_and_insert(t, &p, j, digest);
}

static __always_inline int epf_kfunc_do_digest(struct epf_table *t, u64 digest, enum op op)
{
	if (likely(READ_ONCE(t->plain)))
		return epf_kfunc_do_parts(t, digest, op, EPF_PARTS_MAX, NULL);
	if (op == OP_TEST)
		return epf_kfunc_test_aside(t, digest);
	if (op == OP_INSERT)
		return epf_kfunc_insert_aside(t, digest);
	return epf_kfunc_test_and_insert_aside(t, digest);
}

static __always_inline int epf_kfunc_xdp_other(struct epf_table *t, struct xdp_buff *xdp,
					       struct epf_pkt_opts opts, enum op op)
{
	if (op == OP_TEST)
		return epf_kfunc_xdp_test_aside(t, xdp, opts);
	if (op == OP_INSERT)
		return epf_kfunc_xdp_insert_aside(t, xdp, opts);
	return epf_kfunc_xdp_test_and_insert_aside(t, xdp, opts);
}

/* One operation on the key of a packet in XDP, for programs that own a reference and for those
 * whose reference stays in its map.
 */
static __always_inline int epf_kfunc_do_xdp(struct epf_table *t, struct xdp_buff *xdp,
					    const struct epf_pkt_opts *opts, enum op op)
{
	u64 first, tail;

	if (!epf_flow_plain(xdp->data, xdp->data_end - xdp->data, opts, &first, &tail))
		return epf_kfunc_xdp_other(t, xdp, *opts, op);
	return epf_kfunc_do_digest(t, epf_digest_words(&t->hash, first, tail, 14), op);
}

#endif /* EPF_KFUNC_H */
