// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* AVX2: a line is two vectors. */
#if defined(__x86_64__)

#include "engine.h"

#include <immintrin.h>

#define VEC_TARGET "avx2"
#define VEC_BYTES 32
#include "vec.h"

VEC_FN vec vec_mul32(vec a, vec b)
{
	return (vec)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

/* The hits among four lanes. */
VEC_FN __u32 half_hits(const __u64 *lane, const __u64 *flip, __m256i mask)
{
	__m256i lanes = _mm256_loadu_si256((const __m256i *)lane);
	__m256i lacks = _mm256_xor_si256(lanes, _mm256_load_si256((const __m256i *)flip));
	__m256i none = _mm256_cmpeq_epi64(_mm256_and_si256(lacks, mask), _mm256_setzero_si256());

	return (__u32)_mm256_movemask_pd(_mm256_castsi256_pd(none));
}

VEC_FN __u32 vec_hits(const struct epf_line *line, const __u64 *flip, __u64 mask)
{
	__m256i m = _mm256_set1_epi64x((long long)mask);

	return half_hits(line->lane, flip, m) | half_hits(line->lane + 4, flip + 4, m) << 4;
}

__attribute__((target(VEC_TARGET))) static void avx2_look(const struct epf_lens *l,
							  const unsigned char *digest, __u32 n,
							  unsigned char *age)
{
	EPF_BY_PARTS(l->f.geom.parts, vec_parts, l, digest, n, age);
}

static bool avx2_usable(void)
{
	return __builtin_cpu_supports("avx2");
}

static int avx2_query(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a)
{
	return epf_audit_run(avx2_look, v, keys, a);
}

const struct epf_engine epf_engine_avx2 = {
	"avx2",
	avx2_usable,
	avx2_query,
	epf_cpu_rates,
};

#endif /* __x86_64__ */
