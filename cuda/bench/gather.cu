// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Speed of the memory: reads of whole lines at random, and nothing else. A
 * filter that reads one line per key cannot be faster than this.
 *
 * A form is named by threads per line (T) and lines in flight (U): T threads of
 * a warp fetch a line together, with B / (16 T) loads of 16 bytes each, and a
 * warp has 32 U lines in flight before it uses the first. The thread whose turn
 * it is computes the number of a line once, and shuffles share it, so that the
 * measurement is not of arithmetic.
 */
#include "bench.h"

#include <stdio.h>

#define WARP 32u
#define WHOLE_WARP 0xffffffffu

/* With more than one thread per line no thread loads an address twice, so L1 is
 * bypassed.
 */
template <int T> __device__ __forceinline__ ulonglong2 load(const ulonglong2 *at)
{
	return T == 1 ? *at : __ldcg(at);
}

/* Load this thread's share of 32 lines. @line is the line of its own turn. */
template <int B, int T>
__device__ __forceinline__ void fetch(const ulonglong2 *mem, __u64 line, ulonglong2 v[B / 16])
{
	const int loads = B / 16 / T;
	int t, l;

	EPF_UNROLL
	for (t = 0; t < T; t++) {
		__u64 of = __shfl_sync(WHOLE_WARP, (unsigned long long)line, t, T);
		const ulonglong2 *at = mem + of * (B / 16) + threadIdx.x % T;

		EPF_UNROLL
		for (l = 0; l < loads; l++)
			v[t * loads + l] = load<T>(at + l * T);
	}
}

template <int B, int T, int U>
static __global__ void gather(const ulonglong2 *mem, __u64 lines, __u64 n, unsigned long long *sink)
{
	__u64 thread = blockIdx.x * (__u64)blockDim.x + threadIdx.x;
	__u64 step = (__u64)gridDim.x * blockDim.x * U;
	__u64 at = thread / WARP * WARP * U + threadIdx.x % WARP;
	ulonglong2 v[U][B / 16];
	unsigned long long sum = 0;
	int u, l;

	for (; at < n; at += step) { /* n is a multiple of WARP: whole warps */
		EPF_UNROLL
		for (u = 0; u < U; u++)
			fetch<B, T>(mem, epf_mulhi(bench_key(SEED_GATHER, at + u * WARP), lines),
				    v[u]);
		__syncwarp(); /* loads do not cross it */
		EPF_UNROLL
		for (u = 0; u < U; u++) {
			EPF_UNROLL
			for (l = 0; l < B / 16; l++)
				sum += v[u][l].x ^ v[u][l].y;
		}
	}
	if (sum == 1) /* never true, but the compiler does not know */
		*sink = sum;
}

typedef void (*gather_kernel)(const ulonglong2 *mem, __u64 lines, __u64 n,
			      unsigned long long *sink);

static const struct form {
	__u32 line_bytes;
	const char *name;
	gather_kernel kernel;
} forms[] = {
	{ 32, "T1 U1", gather<32, 1, 1> },   { 32, "T1 U2", gather<32, 1, 2> },
	{ 32, "T2 U1", gather<32, 2, 1> },   { 32, "T2 U2", gather<32, 2, 2> },
	{ 32, "T2 U4", gather<32, 2, 4> },   { 64, "T1 U1", gather<64, 1, 1> },
	{ 64, "T2 U1", gather<64, 2, 1> },   { 64, "T4 U1", gather<64, 4, 1> },
	{ 64, "T4 U2", gather<64, 4, 2> },   { 128, "T2 U1", gather<128, 2, 1> },
	{ 128, "T4 U1", gather<128, 4, 1> }, { 128, "T8 U1", gather<128, 8, 1> },
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

struct fetch {
	const struct form *form;
	__u64 lines;
	__u64 n;
	unsigned long long *sink;
};

static cudaError_t fetch_all(void *self)
{
	const struct fetch *f = (const struct fetch *)self;
	const ulonglong2 *mem = (const ulonglong2 *)bench.lines;
	gather_kernel kernel = f->form->kernel;
	unsigned long long *sink = f->sink;
	__u64 lines = f->lines, n = f->n;

	return BENCH_LAUNCH(kernel, n, mem, lines, n, sink);
}

double gather_rate(__u32 line_bytes, __u64 bytes, const char **form)
{
	struct fetch f = { NULL, bytes / line_bytes, bench.nr_keys, NULL };
	double best = 0, rate;
	unsigned int i;

	f.sink = (unsigned long long *)card_memory(sizeof(*f.sink), "a word");
	for (i = 0; i < FORMS; i++) {
		if (forms[i].line_bytes != line_bytes)
			continue;
		f.form = &forms[i];
		rate = (double)f.n / seconds_of(fetch_all, &f);
		if (rate > best) {
			best = rate;
			*form = forms[i].name;
		}
	}
	cudaFree(f.sink);
	return best;
}

#define CEILINGS_MAX 128

static struct {
	__u32 line_bytes;
	__u64 bytes;
	double rate;
} known[CEILINGS_MAX];
static unsigned int nr_known;

double ceiling(__u32 line_bytes, __u64 bytes)
{
	const char *form = "";
	unsigned int i;

	for (i = 0; i < nr_known; i++)
		if (known[i].line_bytes == line_bytes && known[i].bytes == bytes)
			return known[i].rate;
	if (nr_known == CEILINGS_MAX)
		nr_known--;
	i = nr_known++;
	known[i].line_bytes = line_bytes;
	known[i].bytes = bytes;
	known[i].rate = gather_rate(line_bytes, bytes, &form);
	record("gather", "d:line_bytes d:bytes s:form d:per_s", (double)line_bytes, (double)bytes,
	       form, known[i].rate);
	return known[i].rate;
}

/* Return: did the card accept the hint? A card without this limit is not an error. */
static bool hinted(cudaError_t err)
{
	if (err == cudaSuccess)
		return true;
	cudaGetLastError();
	fprintf(stderr, "gathers: no other granularity of the L2: %s\n", cudaGetErrorString(err));
	return false;
}

static bool set_hint(size_t bytes)
{
	return hinted(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, bytes));
}

/* Measure whether the fetch granularity of the L2 matters, for which a process
 * can give a hint. The filter has 4.5 GB, or the largest size below. Only rates
 * are recorded.
 */
static void run_granularity(void)
{
	static const size_t hints[] = { 32, 64, 128 };
	const __u64 *size = sizes();
	const char *form = "";
	size_t before = 0;
	unsigned int i;
	__u32 bytes;

	while (size[1] && size[1] <= 4500 * MB)
		size++;
	if (!hinted(cudaDeviceGetLimit(&before, cudaLimitMaxL2FetchGranularity)))
		return;
	for (i = 0; i < 3 && set_hint(hints[i]); i++)
		for (bytes = 32; bytes <= 64; bytes *= 2)
			record("granularity", "d:hint d:before d:line_bytes d:bytes d:per_s",
			       (double)hints[i], (double)before, (double)bytes, (double)*size,
			       gather_rate(bytes, *size, &form));
	if (i)
		set_hint(before);
}

void run_gathers(void)
{
	static const __u32 line_bytes[] = { 32, 64, 128 };
	const __u64 *size;
	unsigned int i;

	for (size = sizes(); *size; size++)
		for (i = 0; i < 3; i++)
			ceiling(line_bytes[i], *size);
	run_granularity();
}
