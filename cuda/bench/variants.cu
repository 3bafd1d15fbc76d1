// SPDX-License-Identifier: GPL-2.0
/*
 * Every variant of the query at every size, beside the ceiling of its line and
 * size. All have to give the same bitmap.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH 43 /* any */

static const struct { __u32 parts, k; } shapes[] = {
	{ 1, 5 }, { 2, 8 }, { 4, 12 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

struct variant {
	struct epf_cu_lines lines;
	struct epf_cu_keys keys;
	__u32 threads, flight;
	__u8 *ages;
};

static cudaError_t ask(void *self)
{
	const struct variant *v = (const struct variant *)self;

	return epf_cu_query_as(&v->lines, &v->keys, bench.bitmap, v->ages,
			       bench.count, v->threads, v->flight,
			       bench.stream);
}

/* Is the answer that of the first variant, which @first keeps? */
static bool same(__u32 *first, bool is_first)
{
	size_t bytes = bench.nr_keys / 8;
	__u32 *got = is_first ? first : (__u32 *)malloc(bytes);
	bool equal;

	must(got ? cudaMemcpyAsync(got, bench.bitmap, bytes,
				   cudaMemcpyDeviceToHost, bench.stream) :
		   cudaErrorMemoryAllocation, "an answer");
	must(cudaStreamSynchronize(bench.stream), "an answer");
	equal = !memcmp(got, first, bytes);
	if (!is_first)
		free(got);
	return equal;
}

static void time_one(struct variant *v, __u32 *first, bool is_first)
{
	__u64 bytes = epf_geom_lines(&v->lines.geom) * EPF_LINE_BYTES;
	double rate, best = ceiling(EPF_LINE_BYTES, bytes);

	must(cudaMemsetAsync(bench.bitmap, 0x55, bench.nr_keys / 8,
			     bench.stream), "an answer");
	rate = (double)v->keys.n / seconds_of(ask, v);
	record("variant",
	       "d:bytes d:lines_a_key d:threads d:flight s:ages d:per_s d:share",
	       (double)bytes, (double)v->lines.geom.parts, (double)v->threads,
	       (double)v->flight, v->ages ? "yes" : "no", rate,
	       rate * v->lines.geom.parts / best);
	if (!same(first, is_first))
		law(false, "all variants give the same bitmap");
}

static void time_shape(struct variant *v, __u32 *first)
{
	__u32 ages;

	for (ages = 0; ages < 2; ages++) {
		v->ages = ages ? bench.ages : NULL;
		for (v->threads = 1; v->threads <= 4; v->threads += 3)
			for (v->flight = 1; v->flight <= 2; v->flight++)
				time_one(v, first, !ages && v->threads == 1 &&
							   v->flight == 1);
	}
}

void run_variants(void)
{
	struct variant v = {};
	__u32 *first = (__u32 *)malloc(bench.nr_keys / 8);
	const __u64 *size;
	__u64 lines;
	unsigned int i;

	must(first ? cudaSuccess : cudaErrorMemoryAllocation, "an answer");
	v.lines.line = (struct epf_line *)bench.lines;
	v.lines.epoch = EPOCH;
	v.keys.data = bench.keys;
	v.keys.n = bench.nr_keys;
	must(keys_make(bench.keys, SEED_ABSENT, 0, bench.nr_keys), "keys");
	for (size = sizes(); *size; size++) {
		lines = *size / EPF_LINE_BYTES / EPF_PARTS_MAX * EPF_PARTS_MAX;
		must(lines_noise(v.lines.line, lines, EPOCH), "lines");
		for (i = 0; i < SHAPES; i++) {
			epf_geom_init(&v.lines.geom, lines, shapes[i].parts,
				      shapes[i].k);
			time_shape(&v, first);
		}
	}
	law(true, "all variants give the same bitmap");
	free(first);
}
