// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* AVX-512: a line is one vector, and one compare tests all its lanes. */
#if defined(__x86_64__)

#include "engine.h"

#include <immintrin.h>

#define VEC_TARGET "avx512f,avx512dq"
#define VEC_BYTES 64
#include "vec.h"

VEC_FN vec vec_mul32(vec a, vec b)
{
	return (vec)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

VEC_FN __u32 vec_hits(const struct epf_line *line, const __u64 *flip, __u64 mask)
{
	__m512i lanes = _mm512_loadu_si512(line);
	__m512i lacks = _mm512_xor_si512(lanes, _mm512_load_si512(flip));

	return _mm512_testn_epi64_mask(lacks, _mm512_set1_epi64((long long)mask));
}

__attribute__((target(VEC_TARGET))) static void avx512_look(const struct epf_lens *l,
							    const unsigned char *digest, __u32 n,
							    unsigned char *age)
{
	EPF_BY_PARTS(l->f.geom.parts, vec_parts, l, digest, n, age);
}

static bool avx512_usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

static int avx512_query(const struct epf_view *v, const struct epf_keys *keys, struct epf_answer *a)
{
	return epf_audit_run(avx512_look, v, keys, a);
}

const struct epf_engine epf_engine_avx512 = {
	"avx512",
	avx512_usable,
	avx512_query,
	epf_cpu_rates,
};

#endif /* __x86_64__ */
