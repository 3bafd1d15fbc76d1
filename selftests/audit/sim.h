/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of audits share: a filter that the core fills, and the core's answer
 * for each key.
 */
#ifndef EPF_AUDIT_SIM_H
#define EPF_AUDIT_SIM_H

#include <audit.h>

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "../core/tap.h"

#define CHECKED __attribute__((unused)) static

/**
 * struct sim - a filter that is never scanned, so old tags match again
 * @mem: memory of the lines, which begin @shift bytes into it
 * @params: parameters as in a snapshot
 * @key: hash key
 */
struct sim {
	struct epf_lanes f;
	__u64 epoch;
	unsigned char *mem;
	struct epf_params params;
	__u64 key[2];
	__u64 seed;
	__u32 per_epoch;
};

CHECKED void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* Return: key @n of epoch @epoch. */
static inline __u64 sim_digest(const struct sim *s, __u64 epoch, __u64 n)
{
	return epf_word(s->seed + epoch * 0x632be59bd9b4e019ULL + n, 1);
}

static inline void sim_insert(struct sim *s, __u64 digest)
{
	struct epf_probe p;

	epf_probe(&s->f, digest, &p);
	epf_lanes_insert(&s->f, &p);
}

CHECKED void sim_init(struct sim *s, __u64 nr_lines, __u32 parts, __u32 k, __u32 shift)
{
	size_t bytes = nr_lines * EPF_LINE_BYTES;

	memset(s, 0, sizeof(*s));
	if (epf_geom_init(&s->f.geom, nr_lines, parts, k))
		abort();
	s->mem = must(aligned_alloc(EPF_LINE_BYTES, bytes + EPF_LINE_BYTES));
	memset(s->mem, 0, bytes + EPF_LINE_BYTES);
	s->f.line = (struct epf_line *)(void *)(s->mem + shift);
	s->f.epoch = &s->epoch;
	s->epoch = EPF_EPOCH_FIRST;
	s->params.kind = EPF_KIND_LANES;
	s->params.nr_lines = nr_lines;
	s->params.lines_per_key = parts;
	s->params.bits_per_key = k;
	s->key[0] = 0x0706050403020100ULL;
	s->key[1] = 0x0f0e0d0c0b0a0908ULL;
	s->seed = (nr_lines + k) * 0x9e3779b97f4a7c15ULL + parts;
}

CHECKED void sim_free(struct sim *s)
{
	free(s->mem);
}

/* Insert the keys of all epochs up to @epoch, half of them for the last one. */
CHECKED void sim_stream(struct sim *s, __u64 epoch)
{
	__u32 n;

	for (;; s->epoch++) {
		for (n = 0; n < s->per_epoch; n++)
			if (s->epoch < epoch || n < s->per_epoch / 2)
				sim_insert(s, sim_digest(s, s->epoch, n));
		if (s->epoch == epoch)
			return;
	}
}

/* Fill with random words, three of four bits set, with arbitrary tags. */
CHECKED void sim_noise(struct sim *s, __u64 epoch)
{
	__u64 words = s->params.nr_lines * EPF_LANES;
	__u64 *word = s->f.line->lane;
	__u64 i;

	for (i = 0; i < words; i++)
		word[i] = (epf_word(s->seed + i, 1) & ~EPF_TAG_MASK) |
			  (epf_word(s->seed + i, 2) & ~EPF_TAG_MASK) |
			  (epf_word(s->seed + i, 3) & EPF_TAG_MASK);
	s->epoch = epoch;
}

CHECKED struct epf_view sim_view(const struct sim *s)
{
	struct epf_view v;

	if (epf_view_init(&v, s->f.line, &s->params, s->key, s->epoch))
		abort();
	return v;
}

/* Return: the age, or 0xff if absent. */
static inline unsigned char sim_age(const struct sim *s, __u64 digest)
{
	struct epf_probe p;
	int verdict;

	epf_probe(&s->f, digest, &p);
	verdict = epf_lanes_look(&p, s->epoch, 0);
	return verdict ? (unsigned char)(verdict - EPF_PRESENT) : EPF_AGE_ABSENT;
}

/**
 * The core's answers.
 */
struct expected {
	unsigned char *bitmap, *ages;
	__u64 ages_of[EPF_LANES];
	__u64 present;
	__u64 n;
};

CHECKED void expect(struct expected *x, const struct sim *s, const __u64 *digest, __u64 n)
{
	__u64 i;

	memset(x, 0, sizeof(*x));
	x->n = n;
	x->bitmap = must(calloc(1, n / 8 + 1));
	x->ages = must(malloc(n + 1));
	for (i = 0; i < n; i++) {
		x->ages[i] = sim_age(s, digest[i]);
		if (x->ages[i] == EPF_AGE_ABSENT)
			continue;
		x->bitmap[i / 8] |= (unsigned char)(1u << i % 8);
		x->ages_of[x->ages[i]]++;
		x->present++;
	}
}

CHECKED void expect_free(struct expected *x)
{
	free(x->bitmap);
	free(x->ages);
}

/* Return: NULL, or what differs. */
CHECKED const char *differs(const struct expected *x, const struct epf_answer *a)
{
	size_t bytes = (x->n + 7) / 8;

	if (memcmp(x->bitmap, a->bitmap, bytes))
		return "bitmap";
	if (a->ages && memcmp(x->ages, a->ages, x->n))
		return "ages";
	if (x->present != a->present)
		return "number present";
	if (memcmp(x->ages_of, a->ages_of, sizeof(x->ages_of)))
		return "histogram";
	return XXH3_64bits(x->bitmap, bytes) == a->bitmap_xxh3 ? NULL : "checksum";
}

/* Report one test point per engine; @broken is indexed by engine. */
CHECKED void claim_engines(const char *const *broken, const char *claim)
{
	const struct epf_engine *e;
	unsigned int i;

	for (i = 0; (e = epf_engine_at(i)); i++)
		if (e->usable())
			tap_sound(broken[i], "%s: %s", e->name, claim);
		else
			tap_ok(true, "%s: %s # SKIP not on this CPU", e->name, claim);
}

static inline int engines(void)
{
	int i = 0;

	while (epf_engine_at((unsigned int)i))
		i++;
	return i;
}

#define ENGINES_MAX 16

#endif /* EPF_AUDIT_SIM_H */
