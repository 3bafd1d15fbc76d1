/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hit probability: the probability that a Poisson number of other keys, of k
 * positions each, sets all positions of a key in a block of B bits.
 */
#ifndef LIBEPF_COVER_H
#define LIBEPF_COVER_H

#ifdef __cplusplus
extern "C" {
#endif

#define EPF_COVER_BITS_MAX 20 /* k */

/* Probabilities of 0 .. k positions set; or of transitions from one such number. */
struct epf_cover_row {
	double at[EPF_COVER_BITS_MAX + 1];
};

/* For keys with k distinct random positions. */
struct epf_cover_chain {
	unsigned int block_bits, bits;
	struct epf_cover_row step[EPF_COVER_BITS_MAX + 1];
};

/**
 * struct epf_cover_fields - for keys with k independent fields
 * @values: number of values of a field, all equally likely
 * @bits: k
 * @own: probabilities that the fields of a key name 0 .. k distinct positions
 */
struct epf_cover_fields {
	double values;
	unsigned int bits;
	struct epf_cover_row own;
};

/**
 * epf_cover_chain_init() - prepare for keys of k distinct random positions
 * @c: result
 * @block_bits: B, above 2 * EPF_COVER_BITS_MAX
 * @bits: k, 1 .. EPF_COVER_BITS_MAX
 */
void epf_cover_chain_init(struct epf_cover_chain *c, unsigned int block_bits, unsigned int bits);

/**
 * epf_cover_fields_init() - prepare for keys of k independent fields
 * @c: result
 * @values: number of values of a field
 * @block_bits: B: this many values name a position, the others name none
 * @bits: k, 1 .. EPF_COVER_BITS_MAX
 */
void epf_cover_fields_init(struct epf_cover_fields *c, unsigned int values, unsigned int block_bits,
			   unsigned int bits);

/**
 * epf_cover_fields() - the probability that all positions of a key are set
 * @c: parameters of the keys
 * @load: mean number of keys in the block
 *
 * Return: the probabilities, by the key's number of distinct positions.
 */
struct epf_cover_row epf_cover_fields(const struct epf_cover_fields *c, double load);

/**
 * epf_cover_chain() - each key has k distinct random positions
 * @c: B and k
 * @load: mean number of keys in the block
 */
double epf_cover_chain(const struct epf_cover_chain *c, double load);

/* The same, with the preparation. */
double epf_cover_distinct(unsigned int block_bits, unsigned int bits, double load);

struct epf_cover_double;

/**
 * epf_cover_double_new() - prepare for keys of double hashing
 * @block_bits: B, a power of two, 64 .. 512
 * @bits: k, 1 .. EPF_COVER_BITS_MAX
 *
 * Return: what epf_cover_double() takes, or NULL: no memory.
 */
struct epf_cover_double *epf_cover_double_new(unsigned int block_bits, unsigned int bits);
void epf_cover_double_free(struct epf_cover_double *c);

/**
 * epf_cover_double() - each key has positions (h1 + i h2) mod B
 * @c: B and k
 * @v: h2 of the queried key is 2^v times an odd number, or 0 if v = log2(B);
 *	0 .. log2(B)
 * @load: mean number of keys in the block
 *
 * The caller takes the mean over @v, after everything else that depends on the
 * key, because the key has the same positions in all segments.
 *
 * Return: the probability; cancellation leaves an error of about
 * 2^k 1e-16 min(1, load).
 */
double epf_cover_double(const struct epf_cover_double *c, unsigned int v, double load);

/* The share of keys whose h2 has @v as in epf_cover_double(). */
double epf_cover_share(unsigned int block_bits, unsigned int v);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_COVER_H */
