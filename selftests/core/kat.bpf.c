// SPDX-License-Identifier: GPL-2.0
/*
 * Known answers in BPF: sections hash, geom and filter. The other sections have keys so
 * long that the verifier cannot follow the core's loops over them. bpf/epf_packet.bpf.h
 * has loops of its own, which digest.c compares with the core.
 *
 * Each script of section filter has its own program, so that its shape is constant and
 * the verifier can bound the index of a line. Only scripts with one line per key are
 * here: the eight comparisons of a line are eight branches to the verifier, and two
 * lines in a row are too many.
 *
 * The verifier rejects unbounded loops such as a compare-and-swap that retries. Here no
 * other CPU touches the words, so the primitives below are plain accesses, and those
 * loops fold away.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include <epf/shim.h>

#define epf_load(p) (*(p))
#define epf_load_acquire(p) (*(p))
#define epf_load_ordered(p) (*(p))
#define epf_store_release(p, v) (*(p) = (v))
#define epf_cas(p, old, v) (*(p) = (v), true)

#include <epf/kat.h>

struct epf_line lines[EPF_KAT_LINES];
struct epf_kat_fold fold[EPF_KAT_SECTIONS];
struct epf_kat_filter filter;
struct epf_hash hash;

/* Plain loops suffice: the verifier knows the tables, so every length and shape is a
 * constant to it.
 */
SEC("syscall")
int kat_hash13(void *ctx)
{
	__u32 len;

	epf_kat_hash_key(&hash, EPF_HASH_SIPHASH13);
	for (len = 0; len < EPF_KAT_LENGTHS; len++)
		epf_kat_hash(&fold[EPF_KAT_HASH], &hash, len);
	return 0;
}

SEC("syscall")
int kat_hash24(void *ctx)
{
	__u32 len;

	epf_kat_hash_key(&hash, EPF_HASH_SIPHASH24);
	for (len = 0; len < EPF_KAT_LENGTHS; len++)
		epf_kat_hash(&fold[EPF_KAT_HASH], &hash, len);
	return 0;
}

/* Unrolled over shapes, which makes them constants to the compiler too. */
SEC("syscall")
int kat_geom(void *ctx)
{
	__u32 s, i;

	_Pragma("clang loop unroll(full)")
	for (s = 0; s < EPF_KAT_LEN(epf_kat_shape); s++)
		for (i = 0; i < EPF_KAT_PER_SHAPE; i++)
			epf_kat_geometry(&fold[EPF_KAT_GEOM], &epf_kat_shape[s],
					 s * EPF_KAT_PER_SHAPE + i);
	return 0;
}

/* User space has zeroed the lines. */
#define SCRIPT(nr)                                                                     \
	static long step##nr(__u32 i, void *ctx)                                       \
	{                                                                              \
		const struct epf_kat_script *s = &epf_kat_script[nr];                  \
		const struct epf_kat_op *op;                                           \
		struct epf_lanes lanes;                                                \
                                                                                       \
		if (i >= EPF_KAT_OPS)                                                  \
			return 1;                                                      \
		op = &epf_kat_op[nr * EPF_KAT_OPS + i];                                \
		lanes.line = lines;                                                    \
		lanes.epoch = &filter.state.epoch;                                     \
		epf_geom_init(&lanes.geom, EPF_KAT_LINES, s->parts, s->k);             \
		epf_kat_note(&fold[EPF_KAT_FILTER], epf_kat_step(&lanes, &filter, op), \
			     op->result);                                              \
		return 0;                                                              \
	}                                                                              \
                                                                                       \
	SEC("syscall")                                                                 \
	int kat_script##nr(void *ctx)                                                  \
	{                                                                              \
		if (epf_kat_begin(&filter, &epf_kat_script[nr]))                       \
			return 1;                                                      \
		return bpf_loop(EPF_KAT_OPS, step##nr, NULL, 0) < 0;                   \
	}

SCRIPT(0)
SCRIPT(3)

char LICENSE[] SEC("license") = "GPL";
