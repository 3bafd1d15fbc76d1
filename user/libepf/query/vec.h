/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * geometry.h and the test of lanes.h with vectors, for engines that include
 * this with VEC_TARGET, VEC_BYTES, vec_mul32() and vec_hits() of their own.
 * Each function gives the results of the core function named above it.
 *
 * A lane may change while its line is tested. Each lane is judged by one word: an
 * aligned 8-byte element of a vector load is read in one piece on every x86-64
 * CPU that has such vectors (the manuals state it for aligned 16 bytes). Nothing
 * is loaded twice.
 *
 * Lines are prefetched into the L2 only, which can have more misses under way
 * than the L1 (Zen 4, 70 MiB, lines alone: 200 million a second against 130).
 */
#define VEC_FN static inline __attribute__((always_inline, target(VEC_TARGET)))
#define VEC_KEYS (VEC_BYTES / 8)
#define VEC_RING_LINES 64u /* under way; twice as many gain nothing */

typedef __u64 vec __attribute__((vector_size(VEC_BYTES)));
typedef __u64 vec_any __attribute__((vector_size(VEC_BYTES), aligned(1), may_alias));

/* The low 32 bits of each, multiplied to 64. */
VEC_FN vec vec_mul32(vec a, vec b);

/* The lanes of @line, one bit each, that contain @mask in their epoch. @mask:
 * positions, and both bits of the tag.
 */
VEC_FN __u32 vec_hits(const struct epf_line *line, const __u64 *flip, __u64 mask);

/**
 * struct vec_group - probes of as many keys as a vector holds
 * @at: byte offsets of the lines in each part
 * @mask: positions there, and both bits of the tag
 */
struct vec_group {
	vec at[EPF_PARTS_MAX];
	vec mask[EPF_PARTS_MAX];
};

VEC_FN vec vec_all(__u64 v)
{
	return v - (vec){ 0 };
}

/* epf_fold() */
VEC_FN vec vec_fold(vec w)
{
	return w ^ w >> 32;
}

/* @mask, and the positions that the first @n fields of @x name. */
VEC_FN vec vec_fields(vec mask, vec x, __u32 n)
{
	vec one = vec_all(1), low = vec_all(EPF_FIELDS - 1);

	for (; n--; x >>= EPF_FIELD_SHIFT)
		mask |= one << (x & low);
	return mask;
}

/* The mask of a probe for the line of @w: positions, and the tag's bits. */
VEC_FN vec vec_mask(const struct epf_geom *g, vec w)
{
	vec mask = vec_fields(vec_all(EPF_TAG_MASK), vec_fold(w) | vec_all(g->skip),
			      EPF_WORD_FIELDS);

	if (!epf_geom_has_more(g))
		return mask;
	return vec_fields(mask, vec_fold(w * vec_all(EPF_WORD_STEP_4)), g->bits - EPF_WORD_FIELDS);
}

/* epf_probe() */
VEC_FN void vec_probe(__u32 parts, const struct epf_lens *l, const unsigned char *digest,
		      struct vec_group *p)
{
	const struct epf_geom *g = &l->f.geom;
	const char *lines = (const char *)l->f.line;
	vec w = *(const vec_any *)digest, part_lines = vec_all(g->part_lines);
	__u32 i, j;

	for (j = 0; j < parts; j++, w *= EPF_WORD_STEP) {
		vec line = vec_mul32(w >> 32, part_lines) >> 32;

		p->at[j] = (line + j * part_lines) * EPF_LINE_BYTES;
		for (i = 0; i < VEC_KEYS; i++)
			__builtin_prefetch(lines + p->at[j][i], 0, 2);
		p->mask[j] = vec_mask(g, w);
	}
}

/* epf_lanes_look() */
VEC_FN void vec_look(__u32 parts, const struct epf_lens *l, const struct vec_group *p,
		     unsigned char *age)
{
	const char *lines = (const char *)l->f.line;
	__u32 i, j;

	for (i = 0; i < VEC_KEYS; i++) {
		__u32 hits = ~0u;

		for (j = 0; j < parts; j++)
			hits &= vec_hits((const void *)(lines + p->at[j][i]), l->flip,
					 p->mask[j][i]);
		age[i] = l->age[hits];
	}
}

/* A group is tested when the groups after it fill the ring. */
VEC_FN void vec_parts(__u32 parts, const struct epf_lens *l, const unsigned char *digest, __u32 n,
		      unsigned char *age)
{
	struct vec_group ring[VEC_RING_LINES / VEC_KEYS];
	__u32 ahead = VEC_RING_LINES / VEC_KEYS / parts;
	__u32 groups = n / VEC_KEYS;
	__u32 i;

	for (i = 0; i < groups + ahead; i++) {
		struct vec_group *p = &ring[i % ahead];

		if (i >= ahead)
			vec_look(parts, l, p, age + (i - ahead) * VEC_KEYS);
		if (i < groups)
			vec_probe(parts, l, digest + i * sizeof(vec), p);
	}
}
