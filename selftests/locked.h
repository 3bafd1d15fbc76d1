/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters of the locked kinds in this process, made by the core's table of
 * kinds. Tests compare the kernel's filters with them. Shapes are small so that
 * there are false positives, which must be the same in both.
 */
#ifndef SELFTESTS_LOCKED_H
#define SELFTESTS_LOCKED_H

#include <epf/kinds.h>

#include <linux/epochfilter.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct locked - a filter of a locked kind
 * @f: the filter; zeroed if there is none
 * @kind: enum epf_kind
 * @epochs: complete epochs in the window
 * @now_ns: its clock, which the test advances
 */
struct locked {
	struct epf_locked f;
	__u32 kind;
	__u32 epochs;
	__u64 now_ns;
};

/* Is it a locked kind of fixed size? */
static inline bool locked_is_fixed(__u32 kind)
{
	return epf_kind_row(kind) && !epf_kind_row(kind)->resizable;
}

/* Is it a resizable kind? */
static inline bool locked_is_resizable(__u32 kind)
{
	return epf_kind_row(kind) && epf_kind_row(kind)->resizable;
}

/* "lanes" or the name of a locked kind. */
static inline const char *locked_name(__u32 kind)
{
	return kind ? epf_kind_row(kind)->name : "lanes";
}

/* Iterate over all fixed-size kinds. Return: how many there are. */
static inline __u32 locked_fixed_kinds(__u32 kinds[EPF_KIND_MAX])
{
	__u32 kind, nr = 0;

	for (kind = 1; kind <= EPF_KIND_MAX; kind++)
		if (locked_is_fixed(kind))
			kinds[nr++] = kind;
	return nr;
}

/* Return: a shape for few keys: 300 in the window of a fixed-size kind. */
static inline struct epf_shape locked_shape(__u32 kind)
{
	static const struct epf_shape shapes[EPF_KIND_MAX + 1] = {
		[EPF_KIND_GE].ge = { .segment_bits = 600, .epochs = 5, .bits = 6 },
		[EPF_KIND_GEBL].gebl = { .blocks = 5, .block_bits = 128, .epochs = 3, .bits = 5 },
		[EPF_KIND_APBF].apbf = { .slice_bits = 300, .k = 4, .l = 12 },
		[EPF_KIND_APBBF]
			.apbbf = { .blocks = 3, .k = 3, .l = 9, .block_bits = 128, .bits = 2 },
		[EPF_KIND_TLBF].tlbf = { .words_first = 1024,
					 .words_min = 1024,
					 .words_max = 1 << 16,
					 .k = 5,
					 .l = 7 },
		[EPF_KIND_DICT].dict = { .buckets = 10,
					 .yard = 2,
					 .generations = 5,
					 .tag_bits = 3,
					 .rem_bits = 7,
					 .slots = 16,
					 .lines = 1 },
		[EPF_KIND_CHAIN].chain = { .lines_first = 64,
					   .lines_min = 64,
					   .lines_max = 1 << 12,
					   .load = 1024,
					   .lines_per_key = 2,
					   .bits_per_key = 10 },
		[EPF_KIND_ELASTIC].elastic = { .lines = 8, .line_words = 8, .epochs = 5 },
	};

	return shapes[kind];
}

/* Set the shape of an empty filter without memory. Return: false if no such
 * shape exists.
 */
static inline bool locked_shaped(struct locked *o, __u32 kind, const struct epf_shape *shape,
				 __u64 window_ns)
{
	memset(o, 0, sizeof(*o));
	o->kind = kind;
	if (epf_locked_init(&o->f, epf_kind_row(kind), shape, window_ns, 0))
		return false;
	o->epochs = o->f.epochs;
	return true;
}

/* Return: complete epochs in the window. */
static inline __u32 locked_epochs(__u32 kind, const struct epf_shape *s)
{
	struct locked o;

	return locked_shaped(&o, kind, s, 0) ? o.f.epochs : 0;
}

/* Return: rotations after which nothing is left in memory. */
static inline __u32 locked_slices(__u32 kind, const struct epf_shape *s)
{
	struct locked o;

	return locked_shaped(&o, kind, s, 0) ? o.f.slices : 0;
}

static inline __u64 *locked_memory(__u64 words)
{
	size_t bytes = (words * sizeof(__u64) + 63) & ~63ULL;
	__u64 *word = words ? aligned_alloc(64, bytes) : NULL;

	if (word)
		memset(word, 0, bytes);
	return word;
}

/* Make a filter of @shape, of a fixed-size kind; locked_free() frees it. Return: false
 * if there is no memory, or the shape is invalid.
 */
static inline bool locked_init(struct locked *o, __u32 kind, const struct epf_shape *shape)
{
	if (!locked_shaped(o, kind, shape, 0))
		return false;
	epf_locked_place(&o->f, locked_memory(o->f.words));
	return o->f.word;
}

/* Does nothing if @o is zeroed. */
static inline void locked_free(struct locked *o)
{
	__u64 *word, words;

	if (!o->f.ops)
		return;
	if (o->f.ops->resizable)
		while ((word = o->f.ops->resizable->take(&o->f, &words)))
			free(word);
	else
		free(o->f.word);
	memset(&o->f, 0, sizeof(o->f));
}

static inline int locked_test(const struct locked *o, __u64 digest)
{
	return o->f.ops->test(&o->f, digest, o->now_ns);
}

/* Compute how many keys the new epoch may take. */
static inline void locked_see(struct locked *o)
{
	if (o->f.room && o->f.room->stale)
		o->f.ops->set_room(&o->f);
}

/* Begin to count keys. @o is empty, and @room is zero except for its limit. */
static inline void locked_count(struct locked *o, struct epf_room *room)
{
	void *work = malloc(o->f.ops->count_bytes + 1);

	o->f.room = room;
	if (!work || o->f.ops->count(&o->f, work))
		abort();
	free(work);
}

static inline void locked_insert(struct locked *o, __u64 digest)
{
	o->f.ops->insert(&o->f, digest, o->now_ns);
}

/* End an epoch of a fixed-size kind. */
static inline void locked_rotate(struct locked *o)
{
	epf_locked_rotate(&o->f);
	locked_see(o);
}

/* Provide the memory that a resizable kind needs next. Return: false if it needs none. */
static inline bool locked_supply(struct locked *o)
{
	__u64 words = o->f.ops->resizable->plan(&o->f, o->now_ns);
	__u64 *word = locked_memory(words);

	if (!words)
		return false;
	if (!word)
		abort();
	if (!o->f.ops->resizable->add(&o->f, o->now_ns, word, words))
		free(word);
	return true;
}

/* Make a filter of @shape, of a resizable kind. */
static inline bool locked_init_resizable(struct locked *o, __u32 kind,
					 const struct epf_shape *shape, __u64 window_ns)
{
	if (!locked_shaped(o, kind, shape, window_ns))
		return false;
	while (!o->f.ops->resizable->ready(&o->f))
		if (!locked_supply(o))
			return false;
	return true;
}

/* Do what the worker does for a resizable kind. */
static inline void locked_care(struct locked *o)
{
	const struct epf_resizable_ops *resizable = o->f.ops->resizable;
	__u64 *word, words;

	while ((word = resizable->expired(&o->f, o->now_ns, &words)))
		free(word);
	while (resizable->scan && resizable->scan(&o->f, 64))
		;
	locked_supply(o);
}

#endif /* SELFTESTS_LOCKED_H */
