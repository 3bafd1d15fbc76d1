/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of kernels share: a filter that the core fills, seen as the
 * card has it.
 */
#ifndef EPF_CARDS_H
#define EPF_CARDS_H

#include <kernels.h>

#include "../audit/sim.h"

#define SEED_NR 0x9e3779b97f4a7c15ULL

static const struct {
	__u32 parts, k;
} shapes[] = {
	{ 1, 1 },  { 1, 7 },  { 1, 9 }, { 1, 15 }, { 2, 2 },  { 2, 6 },
	{ 2, 18 }, { 2, 30 }, { 4, 4 }, { 4, 8 },  { 4, 20 }, { 4, 40 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* An odd number of lines per part; so many keys that lanes get half full. */
CHECKED void cards_shaped(struct sim *s, __u32 parts, __u32 k, __u64 part_lines)
{
	sim_init(s, parts * part_lines, parts, k, 0);
	s->per_epoch = (__u32)(part_lines * parts * 30 / k);
}

CHECKED void cards_init(struct sim *s, unsigned int shape, __u64 part_lines)
{
	cards_shaped(s, shapes[shape].parts, shapes[shape].k, part_lines);
}

/* Fill with a stream of keys, or noise, up to @epoch. */
CHECKED void cards_fill(struct sim *s, __u64 epoch, bool noise)
{
	if (noise) {
		sim_noise(s, epoch);
		return;
	}
	s->epoch = epoch < EPF_EPOCH_FIRST + 9 ? EPF_EPOCH_FIRST : epoch - 9;
	sim_stream(s, epoch);
}

CHECKED struct epf_cu_lines cards_lines(const struct sim *s)
{
	struct epf_cu_lines f = { s->f.line, s->f.geom, s->epoch };

	return f;
}

CHECKED struct epf_cu_keys cards_keys(const struct sim *s, const void *data, __u64 n, __u32 len)
{
	struct epf_cu_keys k = { data, n, len, { { s->key[0], s->key[1] }, 0, { 0 } } };

	return k;
}

/* Return: a digest of the window, an old one, or one never seen. */
CHECKED __u64 cards_digest(const struct sim *s, __u64 i)
{
	__u64 r = epf_word(s->seed ^ s->epoch * SEED_NR, (__u32)i + 1);
	__u64 epoch = s->epoch - r / 4 % 12;

	if (r % 4 == 0 || epoch < EPF_EPOCH_FIRST || epoch > s->epoch)
		return r;
	return sim_digest(s, epoch, (r >> 20) % s->per_epoch);
}

/* Return: memory of exactly the right size, so that the sanitizer sees an overrun; to
 * be freed.
 */
CHECKED __u64 *cards_digests(const struct sim *s, __u64 n)
{
	__u64 *digest = must(malloc(n * sizeof(*digest) + !n));
	__u64 i;

	for (i = 0; i < n; i++)
		digest[i] = cards_digest(s, i);
	return digest;
}

#endif /* EPF_CARDS_H */
