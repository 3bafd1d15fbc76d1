// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Baseline: classic guarded epochs, one thread per key, with the core's
 * positions. The shape is made constant before the core's functions use it, so
 * that their loops have constant bounds.
 */
#include "bench.h"

#define WARP 32u
#define WHOLE_WARP 0xffffffffu
#define SEGMENTS (GE_EPOCHS + 1)

/* Return: @f with the constants of this benchmark. */
EPF_FN struct epf_ge fixed(const struct epf_ge *f, enum ge_form form)
{
	struct epf_ge g = *f;

	g.shape.bits = GE_BITS;
	g.shape.epochs = form == GE_CELLS ? CELLS_EPOCHS : GE_EPOCHS;
	g.shape.layout = form == GE_CELLS ? EPF_GE_TRANSPOSED : EPF_GE_SEGMENTS;
	return g;
}

/* Test all positions of all segments: 72 independent loads. */
EPF_FN bool test_all(const struct epf_ge *f, __u64 digest)
{
	__u64 step = epf_ge_step(digest), pos[GE_BITS], hit, any = 0;
	__u32 i, s;

	EPF_UNROLL
	for (i = 0; i < GE_BITS; i++, digest += step)
		pos[i] = epf_mulhi(digest, f->shape.segment_bits);
#pragma unroll
	for (s = 0; s < SEGMENTS; s++) {
		const __u64 *word = f->word + s * epf_ge_stride(&f->shape);

		hit = 1;
		EPF_UNROLL
		for (i = 0; i < GE_BITS; i++)
			hit &= word[pos[i] >> 6] >> (pos[i] & 63);
		any |= hit;
	}
	return any;
}

/* Test one position in all segments still possible, then the next: as few loads
 * as segment by segment for an absent key, and up to nine at a time.
 */
EPF_FN bool test_wave(const struct epf_ge *f, __u64 digest)
{
	__u64 stride = epf_ge_stride(&f->shape), step = epf_ge_step(digest);
	__u32 left = (1u << SEGMENTS) - 1, i, s;

	for (i = 0; i < GE_BITS && left; i++, digest += step) {
		__u64 pos = epf_mulhi(digest, f->shape.segment_bits);
		const __u64 *word = f->word + (pos >> 6);
		__u32 set = 0;

#pragma unroll
		for (s = 0; s < SEGMENTS; s++)
			if (left >> s & 1)
				set |= (__u32)(word[s * stride] >> (pos & 63) & 1) << s;
		left &= set;
	}
	return left;
}

template <int FORM>
static __global__ void query(struct epf_ge f, const __u64 *digest, __u64 n, __u32 *bitmap)
{
	struct epf_ge g = fixed(&f, (enum ge_form)FORM);
	__u64 step = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;
	__u32 word;
	bool hit;

	for (; i / WARP * WARP < n; i += step) { /* whole warps */
		hit = false;
		if (i < n)
			hit = FORM == GE_ALL  ? test_all(&g, digest[i]) :
			      FORM == GE_WAVE ? test_wave(&g, digest[i]) :
						epf_ge_test(&g, digest[i]) != 0;
		word = __ballot_sync(WHOLE_WARP, hit);
		if (i % WARP == 0)
			bitmap[i / WARP] = word;
	}
}

typedef void (*query_kernel)(struct epf_ge f, const __u64 *digest, __u64 n, __u32 *bitmap);

cudaError_t ge_query(const struct epf_ge *f, enum ge_form form, const __u64 *digest, __u64 n,
		     __u32 *bitmap)
{
	static const query_kernel kernels[] = { query<GE_ALL>, query<GE_EARLY>, query<GE_WAVE>,
						query<GE_CELLS> };
	query_kernel kernel = kernels[form];
	struct epf_ge g = *f;

	return BENCH_LAUNCH(kernel, n, g, digest, n, bitmap);
}

/* The word and bit of a position, as epf_ge_set() has them. */
EPF_FN __u64 *place(const struct epf_ge *f, __u64 pos, __u32 *at)
{
	__u64 *word;

	if (f->shape.layout == EPF_GE_TRANSPOSED) {
		word = epf_ge_locate(f, pos, at);
		*at += f->shape.epochs - f->now;
		return word;
	}
	*at = pos & 63;
	return f->word + f->now * epf_ge_stride(&f->shape) + (pos >> 6);
}

template <int FORM> static __global__ void insert(struct epf_ge f, const __u64 *digest, __u64 n)
{
	struct epf_ge g = fixed(&f, (enum ge_form)FORM);
	__u64 grid = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;
	__u64 h, step, *word;
	__u32 b, at;

	for (; i < n; i += grid) {
		h = digest[i];
		step = epf_ge_step(h);
		EPF_UNROLL
		for (b = 0; b < GE_BITS; b++, h += step) {
			word = place(&g, epf_mulhi(h, g.shape.segment_bits), &at);
			atomicOr((unsigned long long *)word, 1ULL << at);
		}
	}
}

typedef void (*insert_kernel)(struct epf_ge f, const __u64 *digest, __u64 n);

cudaError_t ge_insert(const struct epf_ge *f, const __u64 *digest, __u64 n)
{
	insert_kernel kernel = f->shape.layout == EPF_GE_TRANSPOSED ? insert<GE_CELLS> :
								      insert<GE_EARLY>;
	struct epf_ge g = *f;

	return BENCH_LAUNCH(kernel, n, g, digest, n);
}

static __global__ void sweep(__u64 *word, __u64 words, __u64 keep)
{
	__u64 step = (__u64)gridDim.x * blockDim.x;
	__u64 i = blockIdx.x * (__u64)blockDim.x + threadIdx.x;

	for (; i < words; i += step)
		word[i] &= keep;
}

cudaError_t ge_rotate(struct epf_ge *f)
{
	__u32 old = epf_ge_segment(f, f->shape.epochs);
	__u64 stride = epf_ge_stride(&f->shape);
	__u64 words = epf_ge_words(&f->shape);
	__u64 *word = f->word;
	__u64 bit = epf_ge_column(&f->shape) << (f->shape.epochs - old);
	cudaError_t err;

	if (f->shape.layout == EPF_GE_TRANSPOSED)
		err = BENCH_LAUNCH(sweep, words, word, words, ~bit);
	else
		err = cudaMemsetAsync(word + old * stride, 0, stride * sizeof(*word), bench.stream);
	epf_ge_advance(f);
	return err;
}
