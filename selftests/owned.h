/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters of the locked kinds in this process, made with the core's own source.
 * Tests compare the kernel's filters with them. Shapes are small, so that there
 * are false positives, which must be the same ones.
 */
#ifndef SELFTESTS_OWNED_H
#define SELFTESTS_OWNED_H

#include <epf/rooms.h>

#include <linux/epochfilter.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct owned - a filter of one of the fixed-size kinds
 * @kind: enum epf_kind
 * @epochs: complete epochs that make the window
 * @room: capacity state of a filter that counts its keys; else NULL
 */
struct owned {
	__u32 kind;
	__u32 epochs;
	struct epf_room *room;
	union {
		__u64 *word;
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_apbf apbf;
		struct epf_apbbf apbbf;
		struct epf_dict dict;
	};
};

/* Return: a shape for few keys, 300 in the window. */
static inline struct epf_shape owned_shape(__u32 kind)
{
	struct epf_shape s = { 0 };

	switch (kind) {
	case EPF_KIND_GE:
		s.ge.segment_bits = 600;
		s.ge.epochs = 5;
		s.ge.bits = 6;
		break;
	case EPF_KIND_GEBL:
		s.gebl.blocks = 5;
		s.gebl.block_bits = 128;
		s.gebl.epochs = 3;
		s.gebl.bits = 5;
		break;
	case EPF_KIND_APBF:
		s.apbf.slice_bits = 300;
		s.apbf.k = 4;
		s.apbf.l = 12;
		break;
	case EPF_KIND_APBBF:
		s.apbbf.blocks = 3;
		s.apbbf.k = 3;
		s.apbbf.l = 9;
		s.apbbf.block_bits = 128;
		s.apbbf.bits = 2;
		break;
	case EPF_KIND_DICT:
		s.dict.buckets = 10;
		s.dict.yard = 2;
		s.dict.generations = 5;
		s.dict.tag_bits = 3;
		s.dict.rem_bits = 7;
		s.dict.slots = 16;
		s.dict.lines = 1;
		break;
	}
	return s;
}

#define OWNED_KINDS(X)							      \
	X(EPF_KIND_GE, ge)						      \
	X(EPF_KIND_GEBL, gebl)						      \
	X(EPF_KIND_APBF, apbf)						      \
	X(EPF_KIND_APBBF, apbbf)					      \
	X(EPF_KIND_DICT, dict)

static inline struct epf_ge_shape ge_shape(const struct epf_shape *s)
{
	return (struct epf_ge_shape){ s->ge.segment_bits, s->ge.epochs,
				      s->ge.bits, s->ge.layout };
}

static inline struct epf_gebl_shape gebl_shape(const struct epf_shape *s)
{
	return (struct epf_gebl_shape){ s->gebl.blocks, s->gebl.block_bits,
					s->gebl.epochs, s->gebl.bits,
					s->gebl.offsets };
}

static inline struct epf_apbf_shape apbf_shape(const struct epf_shape *s)
{
	return (struct epf_apbf_shape){ s->apbf.slice_bits, s->apbf.k,
					s->apbf.l };
}

static inline struct epf_apbbf_shape apbbf_shape(const struct epf_shape *s)
{
	return (struct epf_apbbf_shape){ s->apbbf.blocks, s->apbbf.k,
					 s->apbbf.l, s->apbbf.block_bits,
					 s->apbbf.bits };
}

static inline struct epf_dict_shape dict_shape(const struct epf_shape *s)
{
	return (struct epf_dict_shape){ s->dict.buckets, s->dict.yard,
					s->dict.generations, s->dict.tag_bits,
					s->dict.rem_bits, s->dict.slots,
					s->dict.lines };
}

/* Complete epochs that make the window. */
static inline __u32 owned_epochs(__u32 kind, const struct epf_shape *s)
{
	return kind == EPF_KIND_GE    ? s->ge.epochs :
	       kind == EPF_KIND_GEBL  ? s->gebl.epochs :
	       kind == EPF_KIND_APBF  ? s->apbf.l :
	       kind == EPF_KIND_APBBF ? s->apbbf.l :
					s->dict.generations;
}

/* Rotations after which nothing is left in memory. */
static inline __u32 owned_slices(__u32 kind, const struct epf_shape *s)
{
	return kind == EPF_KIND_APBF  ? s->apbf.k + s->apbf.l :
	       kind == EPF_KIND_APBBF ? s->apbbf.k + s->apbbf.l :
					owned_epochs(kind, s) + 1;
}

/* Make a filter of @shape; owned_free() frees it. Return: false if there is no
 * memory, or the shape is invalid.
 */
static inline bool owned_init(struct owned *o, __u32 kind,
			      const struct epf_shape *shape)
{
	__u64 words = 0;

	memset(o, 0, sizeof(*o));
	o->kind = kind;
	o->epochs = owned_epochs(kind, shape);
#define INIT(number, name)						      \
	if (kind == (number)) {						      \
		const struct epf_##name##_shape s = name##_shape(shape);      \
									      \
		if (!epf_##name##_init(&o->name, &s))			      \
			words = epf_##name##_words(&s);			      \
	}
	OWNED_KINDS(INIT)
	o->word = words ? aligned_alloc(64, words * sizeof(__u64)) : NULL;
	if (o->word)
		memset(o->word, 0, words * sizeof(__u64));
	return o->word;
}

static inline void owned_free(struct owned *o)
{
	free(o->word);
	o->word = NULL;
}

static inline int owned_test(const struct owned *o, __u64 digest)
{
#define TEST(number, name)						      \
	if (o->kind == (number))					      \
		return epf_##name##_test(&o->name, digest);
	OWNED_KINDS(TEST)
	return -1;
}

/* Compute the room of an epoch that has begun. */
static inline void owned_see(struct owned *o)
{
	if (!o->room || !o->room->stale)
		return;
#define SEE(number, name)						      \
	if (o->kind == (number))					      \
		epf_##name##_set_room(&o->name);
	OWNED_KINDS(SEE)
}

/* Begin to count keys. @o is empty, and @room is zero except for its limit. */
static inline void owned_count(struct owned *o, struct epf_room *room)
{
	o->room = room;
#define COUNT(number, name)						      \
	if (o->kind == (number))					      \
		epf_##name##_count(&o->name, room);
	OWNED_KINDS(COUNT)
}

static inline void owned_insert(struct owned *o, __u64 digest)
{
#define INSERT(number, name)						      \
	if (o->kind == (number))					      \
		epf_##name##_insert(&o->name, digest);
	OWNED_KINDS(INSERT)
}

static inline void owned_rotate(struct owned *o)
{
#define ROTATE(number, name)						      \
	if (o->kind == (number))					      \
		epf_##name##_rotate(&o->name);
	OWNED_KINDS(ROTATE)
	owned_see(o);
}

#endif /* SELFTESTS_OWNED_H */
