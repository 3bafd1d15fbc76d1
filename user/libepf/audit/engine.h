/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the engines of the CPU share: a lens, which is a view made ready, and
 * the loop over all keys in all threads. An engine adds how a step is looked
 * through.
 */
#ifndef LIBEPF_AUDIT_ENGINE_H
#define LIBEPF_AUDIT_ENGINE_H

#include "audit.h"

#define EPF_STEP_KEYS 4096u /* of one call; a multiple of a block */
#define EPF_BLOCK_KEYS 16u  /* the least that an engine looks at */

/**
 * struct epf_lens - a view made ready
 * @f: the filter, to be read; it has no epoch of its own
 * @epoch: of the view
 * @flip: XORed to the lanes of a line, it leaves zero where a tag is the
 *	expected one and where a position is set
 * @age: of the youngest lane in a set of lanes, a bit each
 */
struct epf_lens {
	struct epf_lanes f;
	__u64 epoch;
	__u64 flip[EPF_LANES] __attribute__((aligned(EPF_LINE_BYTES)));
	unsigned char age[1u << EPF_LANES];
};

/* Ages of @n digests at @digest, which is not aligned. @n is a multiple of a
 * block, 1 .. EPF_STEP_KEYS / EPF_BLOCK_KEYS of them.
 */
typedef void (*epf_look_fn)(const struct epf_lens *l,
			    const unsigned char *digest, __u32 n,
			    unsigned char *age);

/* run.c: a query of a CPU engine. Returns as epf_engine.query. */
int epf_audit_run(epf_look_fn look, const struct epf_view *v,
		  const struct epf_keys *keys, struct epf_answer *a);

/* A function that has to be compiled once for each number of parts, told as a
 * constant, so that the loops over parts go.
 */
#define EPF_BY_PARTS(parts, call, ...)          \
	do {                                    \
		if ((parts) == 1)               \
			call(1, __VA_ARGS__);   \
		else if ((parts) == 2)          \
			call(2, __VA_ARGS__);   \
		else                            \
			call(4, __VA_ARGS__);   \
	} while (0)

extern const struct epf_engine epf_engine_scalar;
extern const struct epf_engine epf_engine_ring;
extern const struct epf_engine epf_engine_avx2;
extern const struct epf_engine epf_engine_avx512;

#endif /* LIBEPF_AUDIT_ENGINE_H */
