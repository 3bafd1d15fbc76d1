/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the rows of fixed-size kinds have in common, see kind.h. */
#ifndef EPF_KIND_FIXED_H
#define EPF_KIND_FIXED_H

#include "kind.h"

#if EPF_TABLES

/* The only piece of a fixed-size kind. */
EPF_FN_BIG __u64 epf_whole_piece(const struct epf_locked *f, __u32 i, __u64 **word)
{
	*word = f->word;
	return i ? 0 : f->words;
}

EPF_FN_BIG void epf_whole_place(struct epf_locked *f, __u32 i, __u64 *word)
{
	(void)i;
	f->word = word;
}

/* The row of a fixed-size kind, and its functions. @last: the last field of struct epf_shape
 * that the kind uses; the numbers are expressions of its shape s.
 */
#define EPF_FIXED_KIND(kind, last, nr_epochs, nr_slices, sound_fn, tidy_fn)                        \
	EPF_FN_BIG int epf_##kind##_row_setup(struct epf_locked *f, __u64 window_ns, __u64 now_ns) \
	{                                                                                          \
		const struct epf_##kind##_shape s = epf_##kind##_shape_of(&f->shape);              \
                                                                                                   \
		(void)window_ns;                                                                   \
		(void)now_ns;                                                                      \
		if (epf_##kind##_init(&f->kind, &s))                                               \
			return -EINVAL;                                                            \
		f->words = epf_##kind##_words(&s);                                                 \
		f->epochs = nr_epochs;                                                             \
		f->slices = nr_slices;                                                             \
		return 0;                                                                          \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_insert(struct epf_locked *f, __u64 digest, __u64 now_ns)  \
	{                                                                                          \
		(void)now_ns;                                                                      \
		epf_##kind##_insert(&f->kind, digest);                                             \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG int epf_##kind##_row_test(const struct epf_locked *f, __u64 digest,             \
					     __u64 now_ns)                                         \
	{                                                                                          \
		(void)now_ns;                                                                      \
		return epf_##kind##_test(&f->kind, digest);                                        \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_retire(struct epf_locked *f)                              \
	{                                                                                          \
		epf_##kind##_retire(&f->kind);                                                     \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG __u64 epf_##kind##_row_sweep(struct epf_locked *f, __u64 at, __u64 n)           \
	{                                                                                          \
		return epf_##kind##_sweep(&f->kind, at, n);                                        \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_advance(struct epf_locked *f)                             \
	{                                                                                          \
		epf_##kind##_advance(&f->kind);                                                    \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_sample(struct epf_locked *f, __u64 random, __u64 now_ns)  \
	{                                                                                          \
		(void)now_ns;                                                                      \
		epf_##kind##_sample(&f->estimator.all, &f->kind, random);                          \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG __u64 epf_##kind##_row_rate(const struct epf_locked *f, __u64 now_ns)           \
	{                                                                                          \
		(void)now_ns;                                                                      \
		return epf_##kind##_rate_q56(&f->estimator.all, &f->kind);                         \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG __u64 epf_##kind##_row_layer(const struct epf_locked *f, __u32 age,             \
						__u64 now_ns, __u64 *fill)                         \
	{                                                                                          \
		(void)now_ns;                                                                      \
		return epf_##kind##_layer_q56(&f->estimator.all, &f->kind, age, fill);             \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG int epf_##kind##_row_count(struct epf_locked *f, void *work)                    \
	{                                                                                          \
		(void)work;                                                                        \
		epf_##kind##_count(&f->kind, f->room);                                             \
		return 0;                                                                          \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_set_room(struct epf_locked *f)                            \
	{                                                                                          \
		epf_##kind##_set_room(&f->kind);                                                   \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_set_shares(struct epf_locked *f)                          \
	{                                                                                          \
		epf_##kind##_set_shares(&f->kind, &f->estimator.all);                              \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG void epf_##kind##_row_save(struct epf_locked *f, struct epf_snap_locked *s,     \
					      __u64 now_ns)                                        \
	{                                                                                          \
		(void)now_ns;                                                                      \
		epf_##kind##_save(&f->kind, s);                                                    \
	}                                                                                          \
                                                                                                   \
	EPF_FN_BIG int epf_##kind##_row_load(struct epf_locked *f,                                 \
					     const struct epf_snap_locked *s)                      \
	{                                                                                          \
		return epf_##kind##_load(&f->kind, s);                                             \
	}                                                                                          \
                                                                                                   \
	static const struct epf_kind_ops epf_##kind##_ops = {                                      \
		.name = #kind,                                                                     \
		.used = EPF_SHAPE_USED(kind, last),                                                \
		.needs = EPF_NEEDS_LOCK | EPF_NEEDS_WORKER,                                        \
		.setup = epf_##kind##_row_setup,                                                   \
		.insert = epf_##kind##_row_insert,                                                 \
		.test = epf_##kind##_row_test,                                                     \
		.retire = epf_##kind##_row_retire,                                                 \
		.sweep = epf_##kind##_row_sweep,                                                   \
		.advance = epf_##kind##_row_advance,                                               \
		.sample = epf_##kind##_row_sample,                                                 \
		.rate = epf_##kind##_row_rate,                                                     \
		.layer = epf_##kind##_row_layer,                                                   \
		.count = epf_##kind##_row_count,                                                   \
		.set_room = epf_##kind##_row_set_room,                                             \
		.set_shares = epf_##kind##_row_set_shares,                                         \
		.save = epf_##kind##_row_save,                                                     \
		.load = epf_##kind##_row_load,                                                     \
		.piece = epf_whole_piece,                                                          \
		.place = epf_whole_place,                                                          \
		.sound = sound_fn,                                                                 \
		.tidy = tidy_fn,                                                                   \
	};                                                                                         \
	EPF_ASSERT(!__builtin_offsetof(struct epf_##kind, word), "memory first")

#endif /* EPF_TABLES */

#endif /* EPF_KIND_FIXED_H */
