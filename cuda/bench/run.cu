// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory, timing and records of a run. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS 5
#define BLOCKS_OF_SM 8u /* 2048 threads, the most of a multiprocessor */

struct bench bench;

void must(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return;
	fprintf(stderr, "error: %s: %s\n", what, cudaGetErrorString(err));
	exit(1);
}

void law(bool good, const char *what)
{
	record("law", "s:law s:holds", what, good ? "yes" : "no");
	if (good)
		return;
	fprintf(stderr, "error: broken: %s\n", what);
	exit(1);
}

void *card_memory(__u64 bytes, const char *what)
{
	void *p = NULL;

	must(cudaMalloc(&p, bytes), what);
	return p;
}

/* 70 MB is the size of the paper's filter. */
const __u64 *sizes(void)
{
	static const __u64 tiny[] = { 1 << 14, 70000, 0 };
	static const __u64 all[] = { 16 * MB,   32 * MB,    48 * MB,    70 * MB,   128 * MB,
				     280 * MB,  560 * MB,   1120 * MB,  2250 * MB, 4500 * MB,
				     9000 * MB, 18000 * MB, 35000 * MB, 70000 * MB };
	static __u64 fit[sizeof(all) / sizeof(all[0]) + 1];
	unsigned int i;

	if (bench.emulated)
		return tiny;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] <= bench.room)
			fit[i] = all[i];
	return fit;
}

__u32 blocks_for(__u64 n, __u32 resident)
{
	__u64 most = (__u64)bench.sms * BLOCKS_OF_SM;
	__u64 all = (n + BENCH_THREADS - 1) / BENCH_THREADS;

	if (resident && resident < most)
		most = resident;
	if (!all)
		return 1;
	return (__u32)(all < most ? all : most);
}

static struct {
	cudaEvent_t begin, end;
	bool made;
} span;

void span_begin(void)
{
	if (!span.made) {
		must(cudaEventCreateWithFlags(&span.begin, 0), "an event");
		must(cudaEventCreateWithFlags(&span.end, 0), "an event");
		span.made = true;
	}
	must(cudaEventRecord(span.begin, bench.stream), "an event");
}

double span_end(void)
{
	float ms = 0;

	must(cudaEventRecord(span.end, bench.stream), "an event");
	must(cudaEventSynchronize(span.end), "work on the card");
	must(cudaEventElapsedTime(&ms, span.begin, span.end), "an event");
	return ms > 0 ? ms / 1e3 : 1e-9; /* emulated time may be zero */
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double seconds_of(work_fn work, void *self)
{
	int runs = bench.emulated ? 1 : RUNS, i;
	double s[RUNS];

	if (!bench.emulated)
		must(work(self), "work on the card");
	for (i = 0; i < runs; i++) {
		span_begin();
		must(work(self), "work on the card");
		s[i] = span_end();
	}
	qsort(s, (size_t)runs, sizeof(s[0]), by_value);
	return s[runs / 2];
}

void record(const char *part, const char *format, ...)
{
	char key[32];
	va_list args;
	char type;
	int used;

	printf("{\"part\": \"%s\"", part);
	va_start(args, format);
	for (; sscanf(format, " %c:%31[^ ]%n", &type, key, &used) == 2; format += used)
		if (type == 's')
			printf(", \"%s\": \"%s\"", key, va_arg(args, char *));
		else
			printf(", \"%s\": %.10g", key, va_arg(args, double));
	va_end(args);
	printf("}\n");
	fflush(stdout);
}
