// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lookups at every size, compared with the ceiling of that line and size. The
 * host checks some of the results.
 */
#include "bench.h"

#define EPOCH 43 /* any */
#define CHECKED 4096u

static const struct {
	__u32 parts, k;
} shapes[] = {
	{ 1, 5 },
	{ 2, 8 },
	{ 4, 12 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct question {
	struct epf_cu_lines lines;
	struct epf_cu_keys keys;
	__u8 *ages;
};

static cudaError_t ask(void *self)
{
	const struct question *q = (const struct question *)self;

	return epf_cu_query(&q->lines, &q->keys, bench.bitmap, q->ages, bench.count, bench.stream);
}

/* Return: does some lane of the noise have all parts of the key? */
static bool present(const struct epf_geom *g, __u64 digest)
{
	__u64 lane, line, mask;
	__u32 hits = 0xff, j;

	for (j = 0; j < g->parts; j++) {
		line = epf_geom_line(g, digest, j);
		mask = epf_geom_mask(g, digest, j);
		for (lane = 0; lane < EPF_LANES; lane++)
			if (mask & ~noise_word(line * EPF_LANES + lane))
				hits &= ~(1u << lane);
	}
	return hits;
}

/* Return: are the results of the last keys, which arrive last, those of the host? */
static bool as_host(const struct question *q)
{
	__u64 first = q->keys.n - CHECKED, i;
	__u32 got[CHECKED / 32];

	must(cudaMemcpyAsync(got, bench.bitmap + first / 32, sizeof(got), cudaMemcpyDeviceToHost,
			     bench.stream),
	     "an answer");
	must(cudaStreamSynchronize(bench.stream), "an answer");
	for (i = 0; i < CHECKED; i++)
		if ((got[i / 32] >> i % 32 & 1) !=
		    present(&q->lines.geom, bench_key(SEED_ABSENT, first + i)))
			return false;
	return true;
}

static void time_one(struct question *q)
{
	__u64 bytes = epf_geom_lines(&q->lines.geom) * EPF_LINE_BYTES;
	double rate, best = ceiling(EPF_LINE_BYTES, bytes);

	must(cudaMemsetAsync(bench.bitmap, 0x55, bench.nr_keys / 8, bench.stream), "an answer");
	rate = (double)q->keys.n / seconds_of(ask, q);
	record("query", "d:bytes d:lines_a_key s:ages d:per_s d:share", (double)bytes,
	       (double)q->lines.geom.parts, q->ages ? "yes" : "no", rate,
	       rate * q->lines.geom.parts / best);
	if (!as_host(q))
		law(false, "the host finds the same keys");
}

void run_queries(void)
{
	struct question q = {};
	const __u64 *size;
	__u64 lines;
	unsigned int i;

	q.lines.line = (struct epf_line *)bench.lines;
	q.lines.epoch = EPOCH;
	q.keys.data = bench.keys;
	q.keys.n = bench.nr_keys;
	must(keys_make(bench.keys, SEED_ABSENT, 0, bench.nr_keys), "keys");
	for (size = sizes(); *size; size++) {
		lines = *size / EPF_LINE_BYTES / EPF_PARTS_MAX * EPF_PARTS_MAX;
		must(lines_noise(q.lines.line, lines, EPOCH), "lines");
		for (i = 0; i < SHAPES; i++) {
			/* few parts do not reach all of the largest filters */
			if (epf_geom_init(&q.lines.geom, lines, shapes[i].parts, shapes[i].k))
				continue;
			q.ages = NULL;
			time_one(&q);
			q.ages = bench.ages;
			time_one(&q);
		}
	}
	law(true, "the host finds the same keys");
}
