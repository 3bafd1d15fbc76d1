// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The largest filter that fits the card: count all positions, look up fresh
 * keys, begin an epoch, apply records of a journal.
 */
#include "bench.h"

#define EPOCH 43 /* any */
#define PART_BITS 6

struct whole {
	struct epf_cu_lines f;
	unsigned long long *nr;
	struct epf_journal_record *record;
	__u64 records;
	__u64 probes;
};

static cudaError_t tally(void *self)
{
	struct whole *w = (struct whole *)self;

	return epf_cu_tally(&w->f, w->nr, bench.stream);
}

static cudaError_t probe(void *self)
{
	struct whole *w = (struct whole *)self;

	return epf_cu_probe(&w->f, SEED_ABSENT, w->probes, w->nr, bench.stream);
}

static cudaError_t clear(void *self)
{
	struct whole *w = (struct whole *)self;

	return epf_cu_clear(&w->f, EPOCH + 1, bench.stream);
}

static cudaError_t apply(void *self)
{
	struct whole *w = (struct whole *)self;

	return epf_cu_apply(&w->f, w->record, w->records, bench.stream);
}

/* Three of eight positions of the noise are set. */
static void time_tally(struct whole *w)
{
	unsigned long long got[EPF_CU_TALLY];
	double lanes = (double)epf_geom_lines(&w->f.geom) * EPF_LANES, sum = 0;
	double s;
	__u32 i;

	s = seconds_of(tally, w);
	must(cudaMemsetAsync(w->nr, 0, sizeof(got), bench.stream), "counters");
	must(tally(w), "a count");
	must(cudaMemcpyAsync(got, w->nr, sizeof(got), cudaMemcpyDeviceToHost, bench.stream),
	     "counters");
	must(cudaStreamSynchronize(bench.stream), "counters");
	for (i = 0; i < EPF_CU_TALLY; i++) /* of all parts */
		sum += (double)got[i] * (i % (EPF_LANE_BITS + 1));
	sum /= lanes * EPF_LANE_BITS;
	record("fill", "d:bytes d:seconds d:fill", lanes * 8, s, sum);
	law(sum > 0.37 && sum < 0.38, "three of eight positions are set");
}

static void time_probe(struct whole *w, double bytes)
{
	double s = seconds_of(probe, w);

	record("fresh", "d:bytes d:lines_a_key d:keys d:seconds d:per_s", bytes,
	       (double)w->f.geom.parts, (double)w->probes, s, (double)w->probes / s);
}

static __global__ void make_records(struct epf_journal_record *to, __u64 n)
{
	__u64 step = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;

	for (; i < n; i += step) {
		to[i].seq = (n + i) << EPF_JOURNAL_KIND_BITS | EPF_JOURNAL_INSERT;
		to[i].epoch = EPOCH;
		to[i].value = bench_key(SEED_LIVE, i);
		to[i].more = 1ULL << (EPOCH & 7);
	}
}

/* These measurements change the lines, so they come last. */
static void time_changes(struct whole *w, double bytes)
{
	struct epf_journal_record *record_of = w->record;
	__u64 n = w->records;
	double s;

	must(BENCH_LAUNCH(make_records, n, record_of, n), "records");
	s = seconds_of(apply, w);
	record("journal", "d:bytes d:records d:seconds d:per_s", bytes, (double)n, s,
	       (double)n / s);
	s = seconds_of(clear, w);
	record("rotation", "d:bytes d:seconds", bytes, s);
}

/* One line a key is the fastest, but a part has at most EPF_PART_LINES_MAX lines. Emulated,
 * the filter has the parts of the largest one.
 */
static cudaError_t fewest_parts(struct epf_geom *g, __u64 lines)
{
	__u32 parts = bench.emulated ? EPF_PARTS_MAX : 1;

	for (; parts <= EPF_PARTS_MAX; parts *= 2)
		if (!epf_geom_init(g, lines / EPF_PARTS_MAX * EPF_PARTS_MAX, parts,
				   PART_BITS * parts))
			return cudaSuccess;
	return cudaErrorInvalidValue;
}

void run_whole(void)
{
	struct whole w = {};
	const __u64 *size = sizes();
	double bytes;

	while (size[1])
		size++;
	bytes = (double)*size;
	w.f.line = (struct epf_line *)bench.lines;
	w.f.epoch = EPOCH;
	w.records = bench.nr_keys / 4; /* the same number of bytes as keys */
	w.probes = bench.emulated ? 1u << 12 : 1u << 30;
	w.nr = (unsigned long long *)card_memory(EPF_CU_TALLY * sizeof(*w.nr), "counters");
	must(fewest_parts(&w.f.geom, *size / EPF_LINE_BYTES), "a filter's shape");
	must(lines_noise(w.f.line, *size / EPF_LINE_BYTES, EPOCH), "lines");
	time_tally(&w);
	time_probe(&w, bytes);
	w.record = (struct epf_journal_record *)card_memory(w.records * sizeof(*w.record),
							    "records");
	time_changes(&w, bytes);
	cudaFree(w.record);
	cudaFree(w.nr);
}
