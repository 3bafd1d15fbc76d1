// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the host's memory and back, through the functions that libepf calls,
 * compared with a pinned copy. Wall-clock time: a caller waits for it.
 */
#include "bench.h"

#include <epf_cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EPOCH 43 /* any */
#define BITS 6
#define RUNS 5
#define CHUNK (64ULL << 20)

extern "C" const struct epf_cuda_ops *epf_cuda_ops(void);

/**
 * struct host - data in ordinary memory
 * @lines: lines of a filter of @bytes
 * @keys: digests, @n
 * @bitmap: results
 * @ages: results
 */
struct host {
	struct epf_cuda_lines lines;
	__u64 bytes;
	__u64 *keys;
	__u64 n;
	unsigned char *bitmap;
	unsigned char *ages;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *host_memory(size_t bytes)
{
	void *p = malloc(bytes);

	must(p ? cudaSuccess : cudaErrorMemoryAllocation, "host memory");
	memset(p, 0, bytes);
	return p;
}

/* Return: bytes per second to the card, the best of a few runs; 64 MiB at a time. */
static double pinned_rate(void)
{
	__u64 bytes = bench.nr_keys * 8, at, n;
	double best = 0, t;
	void *from = NULL;
	int i;

	must(cudaMallocHost(&from, bytes), "pinned memory");
	memset(from, 1, bytes);
	for (i = 0; i < RUNS; i++) {
		t = now();
		for (at = 0; at < bytes; at += n) {
			n = bytes - at < CHUNK ? bytes - at : CHUNK;
			must(cudaMemcpyAsync((char *)bench.keys + at, (char *)from + at, n,
					     cudaMemcpyHostToDevice, bench.stream),
			     "a copy");
		}
		must(cudaStreamSynchronize(bench.stream), "a copy");
		t = (double)bytes / (now() - t);
		best = t > best ? t : best;
	}
	cudaFreeHost(from);
	return best;
}

/* Make lines of noise on the card, and fresh keys. */
static void fill(struct host *h)
{
	__u64 lines = h->bytes / EPF_LINE_BYTES, at;
	size_t some = bench.nr_keys * 8;

	must(epf_geom_init(&h->lines.geom, lines, 1, BITS) ? cudaErrorInvalidValue : cudaSuccess,
	     "a filter's shape");
	h->lines.line = (struct epf_line *)host_memory(h->bytes);
	h->lines.epoch = EPOCH;
	must(lines_noise((struct epf_line *)bench.lines, lines, EPOCH), "lines");
	must(cudaMemcpyAsync((void *)h->lines.line, bench.lines, h->bytes, cudaMemcpyDeviceToHost,
			     bench.stream),
	     "lines");
	for (at = 0; at < h->n; at += bench.nr_keys) {
		must(keys_make(bench.keys, SEED_ABSENT, at, bench.nr_keys), "keys");
		must(cudaMemcpyAsync(h->keys + at, bench.keys, some, cudaMemcpyDeviceToHost,
				     bench.stream),
		     "keys");
	}
	must(cudaStreamSynchronize(bench.stream), "keys");
}

static void well(int err, const struct epf_cuda_error *e)
{
	if (!err)
		return;
	fprintf(stderr, "error: %s\n", e->text);
	exit(1);
}

/* Take the best of a few runs, to exclude other load of the machine. */
static double query(const struct host *h, struct epf_cuda_held *held,
		    const struct epf_cuda_column *column, bool ages)
{
	const struct epf_cuda_ops *ops = epf_cuda_ops();
	struct epf_cuda_keys k = { h->keys, h->n, 0, 0 };
	struct epf_cuda_answer a = { h->bitmap, ages ? h->ages : NULL };
	struct epf_cuda_error e;
	double best = 0, t;
	int i;

	for (i = 0; i < (bench.emulated ? 1 : RUNS); i++) {
		t = now();
		well(column ? ops->query_column(held, column, 0, h->n, &a, &e) :
			      ops->query(held, &k, &a, &e),
		     &e);
		t = now() - t;
		best = i && best < t ? best : t;
	}
	return best;
}

/* Return: does the result equal that of the kernel alone? */
static bool as_kernel(const struct host *h, struct epf_cuda_held *held)
{
	const struct epf_cuda_ops *ops = epf_cuda_ops();
	struct epf_cu_lines f = { (struct epf_line *)bench.lines, h->lines.geom, EPOCH };
	struct epf_cu_keys k = { bench.keys, bench.nr_keys, 0, { { 0, 0 }, 0 } };
	struct epf_cuda_keys few = { h->keys, bench.nr_keys, 0, 0 };
	struct epf_cuda_answer a = { h->bitmap, NULL };
	size_t bytes = bench.nr_keys / 8;
	struct epf_cuda_error e;
	unsigned char *got = (unsigned char *)host_memory(bytes);
	bool same;

	well(ops->query(held, &few, &a, &e), &e);
	must(keys_make(bench.keys, SEED_ABSENT, 0, bench.nr_keys), "keys");
	must(epf_cu_query(&f, &k, bench.bitmap, NULL, bench.count, bench.stream), "a question");
	must(cudaMemcpyAsync(got, bench.bitmap, bytes, cudaMemcpyDeviceToHost, bench.stream),
	     "an answer");
	must(cudaStreamSynchronize(bench.stream), "an answer");
	same = !memcmp(got, h->bitmap, bytes);
	free(got);
	return same;
}

static void tell(const struct host *h, const char *what, double seconds, double bytes, double copy)
{
	record("link", "s:what d:filter_bytes d:bytes d:seconds d:bytes_per_s d:per_s d:share",
	       what, (double)h->bytes, bytes, seconds, bytes / seconds, (double)h->n / seconds,
	       bytes / seconds / copy);
}

/* Do the one-time work of the first call: streams, pinned buffers. */
static void set_up(const struct host *h)
{
	const struct epf_cuda_ops *ops = epf_cuda_ops();
	struct epf_cuda_held *held;
	struct epf_cuda_error e;

	well(ops->hold(&h->lines, 0, &held, &e), &e);
	ops->release(held);
}

static void time_all(const struct host *h, double copy)
{
	const struct epf_cuda_ops *ops = epf_cuda_ops();
	struct epf_cuda_keys k = { h->keys, h->n, 0, 0 };
	double bytes = (double)h->n * 8, t;
	struct epf_cuda_column *column;
	struct epf_cuda_held *held;
	struct epf_cuda_error e;

	set_up(h);
	t = now();
	well(ops->hold(&h->lines, 0, &held, &e), &e);
	tell(h, "lines to the card", now() - t, (double)h->bytes, copy);
	tell(h, "keys there, bitmap back", query(h, held, NULL, false), bytes, copy);
	tell(h, "keys there, bitmap and ages back", query(h, held, NULL, true), bytes, copy);
	must(cudaHostRegister(h->keys, h->n * 8, cudaHostRegisterDefault), "pinned keys");
	tell(h, "pinned keys there, bitmap back", query(h, held, NULL, false), bytes, copy);
	must(cudaHostUnregister(h->keys), "pinned keys");
	well(ops->load(&k, 0, &column, &e), &e);
	tell(h, "keys on the card, bitmap back", query(h, held, column, false), bytes, copy);
	law(as_kernel(h, held), "from the host the bitmap is the same");
	ops->unload(column);
	ops->release(held);
}

void run_link(void)
{
	/* a filter that fits the cache, and one that does not */
	static const __u64 filters[] = { 32 * MB, 560 * MB };
	double copy = pinned_rate();
	struct host h = {};
	unsigned int i;

	record("copy", "d:bytes_per_s", copy);
	h.n = bench.emulated ? bench.nr_keys : 2 * bench.nr_keys;
	h.keys = (__u64 *)host_memory(h.n * 8);
	h.bitmap = (unsigned char *)host_memory(h.n / 8);
	h.ages = (unsigned char *)host_memory(h.n);
	for (i = 0; i < 2; i++) {
		h.bytes = bench.emulated ? 1u << 14 : filters[i];
		fill(&h);
		time_all(&h, copy);
		free((void *)h.lines.line);
	}
	free(h.keys);
	free(h.bitmap);
	free(h.ages);
}
