// SPDX-License-Identifier: GPL-2.0
/*
 * Questions window by window: a pass over the keys looks at the lines of one
 * window alone, so the addresses of a pass are near each other, however large
 * the filter. Between passes a key has a byte: the lanes that had it in all
 * lines that have been looked at.
 */
#include "answer.cuh"

/**
 * struct window - one pass
 * @hits: a byte a key; by the first pass all lanes have all
 * @first: line
 * @nr: lines
 */
struct window {
	__u8 *hits;
	__u64 first, nr;
};

/* A key that no lane has any more needs no look. */
template <int L>
__device__ __forceinline__ void find_here(const struct epf_cu_lines *f,
					  const struct window *w, __u64 digest,
					  bool wanted, struct spots<L> *s)
{
	int j;

	find<L>(f, digest, s);
	EPF_UNROLL
	for (j = 0; j < L; j++)
		if (!wanted || s->line[j] - w->first >= w->nr)
			s->line[j] = NO_LINE;
}

template <int L, int T>
static __global__ void __launch_bounds__(BLOCK)
window_pass(struct epf_cu_lines f, struct epf_cu_keys k, struct window w)
{
	ulonglong2 quarter[L][QUARTERS];
	__u64 i = thread_number();
	struct spots<L> s;

	for (; i / WARP * WARP < k.n; i += nr_threads()) {
		__u64 at = i < k.n ? i : k.n - 1;
		__u32 hits = w.first ? w.hits[at] : ANY_LANE;

		find_here<L>(&f, &w, key_digest(&k, at), i < k.n && hits, &s);
		fetch_parts<L, T, true>(&f, &s, quarter);
		__syncwarp();
		hits &= test_parts<L, T, true>(&s, quarter, f.epoch);
		if (i < k.n)
			w.hits[i] = (__u8)hits;
	}
}

static __global__ void __launch_bounds__(BLOCK)
window_tell(const __u8 *hits, struct answer to, __u64 epoch)
{
	unsigned long long nr = 0;
	__u64 i = thread_number();

	for (; i / WARP * WARP < to.n; i += nr_threads())
		nr += tell(&to, i, i < to.n ? hits[i] : 0, epoch);
	tell_count(&to, nr);
}

typedef void (*pass_fn)(struct epf_cu_lines f, struct epf_cu_keys k,
			struct window w);

static pass_fn pass_of(__u32 parts)
{
	if (parts == 1)
		return window_pass<1, EPF_CU_THREADS>;
	if (parts == 2)
		return window_pass<2, EPF_CU_THREADS>;
	return window_pass<4, EPF_CU_THREADS>;
}

static cudaError_t all_passes(const struct epf_cu_lines *f,
			      const struct epf_cu_keys *k, __u8 *hits,
			      __u64 window, cudaStream_t stream)
{
	pass_fn pass = pass_of(f->geom.parts);
	unsigned int blocks = blocks_for(k->n, BLOCK, EPF_RESIDENT(pass, BLOCK));
	struct window w = { hits, 0, window };
	cudaError_t err = cudaSuccess;

	for (; w.first < epf_geom_lines(&f->geom) && !err; w.first += window)
		err = EPF_LAUNCH(pass, blocks, BLOCK, stream, *f, *k, w);
	return err;
}

extern "C" cudaError_t
epf_cu_query_windowed(const struct epf_cu_lines *f, const struct epf_cu_keys *k,
		      __u32 *bitmap, __u8 *ages, unsigned long long *count,
		      __u8 *hits, __u64 window, cudaStream_t stream)
{
	struct answer to = { bitmap, ages, count, k->n };
	cudaError_t err;

	if (!k->n)
		return cudaSuccess;
	if (!sound_lines(f) || !sound_keys(k) || !bitmap || !count || !hits ||
	    !window)
		return cudaErrorInvalidValue;
	if (window > EPF_LINES_MAX)
		window = EPF_LINES_MAX; /* all, and sums do not overflow */
	err = all_passes(f, k, hits, window, stream);
	if (err)
		return err;
	return EPF_LAUNCH(window_tell,
			  blocks_for(k->n, BLOCK,
				     EPF_RESIDENT(window_tell, BLOCK)),
			  BLOCK, stream, hits, to, f->epoch);
}
