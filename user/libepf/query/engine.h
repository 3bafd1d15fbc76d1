/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common parts of the engines of the CPU: a lens, which is a view prepared for
 * lookups, and the loop over all keys in all threads. An engine adds the lookup
 * of the keys of one step.
 */
#ifndef LIBEPF_QUERY_ENGINE_H
#define LIBEPF_QUERY_ENGINE_H

#include "audit.h"
#include "kinds.h"

#define EPF_STEP_KEYS 4096u /* of one call; a multiple of a block */
#define EPF_BLOCK_KEYS 16u  /* the least that an engine looks at */

/**
 * struct epf_lens - a view prepared for lookups
 * @f: the filter, read only; it has no epoch of its own
 * @epoch: of the view
 * @flip: XORed with the lanes of a line, it leaves zero bits where the tag is the
 *	expected one and where a position is set
 * @age: age of the youngest lane in a set of lanes, which has one bit for each
 * @asked: of the view
 */
struct epf_lens {
	struct epf_lanes f;
	__u64 epoch;
	__u64 flip[EPF_LANES] __attribute__((aligned(EPF_LINE_BYTES)));
	unsigned char age[1u << EPF_LANES];
	const struct epf_asked *asked;
};

/* Ages of @n digests at @digest, which is not aligned. @n is a multiple of a
 * block, 1 .. EPF_STEP_KEYS / EPF_BLOCK_KEYS of them.
 */
typedef void (*epf_look_fn)(const struct epf_lens *l, const unsigned char *digest, __u32 n,
			    unsigned char *age);

/* par.c: */

/**
 * struct epf_par - work for threads, cut into pieces
 * @work: do @n of it from @first on; @self is the thread's own
 * @n: total
 * @step: size of a piece; the last one may be smaller
 * @progress: called in the calling thread, after each of its pieces; or NULL
 * @ctx: for @progress
 * @next: first that no thread has taken; grows past the end
 * @done: number finished
 * @stop: @progress asked for an end
 */
struct epf_par {
	void (*work)(void *self, __u64 first, __u64 n);
	__u64 n;
	__u64 step;
	epf_progress_fn progress;
	void *ctx;
	__u64 next;
	__u64 done;
	int stop;
};

/* How many threads there is work for; @want as in struct epf_answer. */
unsigned int epf_par_threads(unsigned int want, __u64 n, __u64 step);

/* Do all of the work, in @threads threads or fewer if no more can be created;
 * @selves has @self_bytes for each. Returns when all have ended.
 */
void epf_par_run(struct epf_par *p, void *selves, size_t self_bytes, unsigned int threads);

/* run.c: a query of a CPU engine, of lanes. Returns as epf_engine.query. */
int epf_audit_run(epf_look_fn look, const struct epf_view *v, const struct epf_keys *keys,
		  struct epf_answer *a);
/* The same for any view that @look can read. */
int epf_audit_run_any(epf_look_fn look, const struct epf_view *v, const struct epf_keys *keys,
		      struct epf_answer *a);

/* Are these numbers in their ranges? */
bool epf_audit_sound(const struct epf_keys *k, const struct epf_answer *a);

/* cuda.c: functions on lines that are on the GPU already. They return -ENOENT if
 * the lines are not there, or as the engine does.
 */
int epf_cuda_tally(const struct epf_view *v, __u64 *nr);
/* Count how many of @n keys made from @seed are present. Copies lines there. */
int epf_cuda_chance(const struct epf_view *v, __u64 seed, __u64 n, __u64 *found);
/* Lines or keys of that serial are gone. */
void epf_cuda_forget(__u64 serial);

/* auto.c: rates of an engine of the CPU, as epf_engine.rates. */
void epf_cpu_rates(const struct epf_engine *e, const struct epf_view *v, unsigned int threads,
		   struct epf_rates *r);

/* interval.c: confidence interval of a rate, from @found of @keys: the rate is
 * between @low and @high in 999 of 1000 cases.
 */
void epf_interval(double found, double keys, double *low, double *high);

/* Compile a call once for each number of parts, passed as a constant, so that the
 * compiler unrolls the loops over parts.
 */
#define EPF_BY_PARTS(parts, call, ...)        \
	do {                                  \
		if ((parts) == 1)             \
			call(1, __VA_ARGS__); \
		else if ((parts) == 2)        \
			call(2, __VA_ARGS__); \
		else                          \
			call(4, __VA_ARGS__); \
	} while (0)

extern const struct epf_engine epf_engine_scalar;
extern const struct epf_engine epf_engine_ring;
extern const struct epf_engine epf_engine_avx2;
extern const struct epf_engine epf_engine_avx512;
extern const struct epf_engine epf_engine_cuda;

#endif /* LIBEPF_QUERY_ENGINE_H */
