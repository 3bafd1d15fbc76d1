// SPDX-License-Identifier: GPL-2.0
/* Locked kinds in the state of a snapshot, queried with functions of the core. */
#include "kinds.h"

#include <errno.h>
#include <stdint.h>

#include "work.h"

#define STEP_BUCKETS(f) (EPF_STEP_BYTES / EPF_LINE_BYTES / (f)->shape.lines)

#define PACED(X)							\
	X(EPF_KIND_GE, ge)						\
	X(EPF_KIND_GEBL, gebl)						\
	X(EPF_KIND_APBF, apbf)						\
	X(EPF_KIND_APBBF, apbbf)					\
	X(EPF_KIND_DICT, dict)

static int tlbf_init(struct epf_asked *a, const struct epf_params *p,
		     const struct epf_snap_owned *s)
{
	const struct epf_tlbf_shape shape =
		epf_tlbf_shape_of(&s->shape, p->window_ns);

	if (epf_tlbf_init(&a->tlbf, &shape, 0))
		return -EINVAL;
	return epf_tlbf_load(&a->tlbf, s);
}

static int chain_init(struct epf_asked *a, const struct epf_params *p,
		      const struct epf_snap_owned *s)
{
	const struct epf_chain_shape shape =
		epf_chain_shape_of(&s->shape, p->window_ns);

	if (epf_chain_init(&a->chain, &shape, 0))
		return -EINVAL;
	return epf_chain_load(&a->chain, s);
}

int epf_asked_init(struct epf_asked *a, const struct epf_params *params,
		   const struct epf_snap_owned *s)
{
	if (!params->kind || params->kind > EPF_KIND_MAX)
		return -EOPNOTSUPP;
	if (!epf_image_sound(s))
		return -EINVAL;
	a->kind = params->kind;
	a->now_ns = s->now;
	if (a->kind == EPF_KIND_TLBF)
		return tlbf_init(a, params, s);
	if (a->kind == EPF_KIND_CHAIN)
		return chain_init(a, params, s);
#define INIT(number, name)						\
	if (a->kind == (number)) {					\
		const struct epf_##name##_shape shape =			\
			epf_##name##_shape_of(&s->shape);		\
									\
		if (epf_##name##_init(&a->name, &shape))		\
			return -EINVAL;					\
		return epf_##name##_load(&a->name, s);			\
	}
	PACED(INIT)
#undef INIT
	return -EOPNOTSUPP;
}

static void place_slices(struct epf_tlbf *f, __u64 *word)
{
	__u32 i;

	for (i = 0; i < f->nr; i++) {
		struct epf_tlbf_slice *s =
			&f->slice[(f->head + i) % EPF_TLBF_SLICES];

		s->word = word;
		word += s->words;
	}
}

static void place_tables(struct epf_chain *f, __u64 *word)
{
	__u32 i;

	for (i = 0; i < f->nr; i++) {
		f->table[i].line = (struct epf_line *)word;
		word += f->table[i].lines * EPF_LANES;
	}
}

void epf_asked_at(struct epf_asked *a, __u64 *word)
{
	if (a->kind == EPF_KIND_TLBF)
		place_slices(&a->tlbf, word);
	else if (a->kind == EPF_KIND_CHAIN)
		place_tables(&a->chain, word);
	else
		a->word = word;
}

int epf_asked_check(const struct epf_asked *a, __u64 *nr)
{
	const struct epf_dict *f = &a->dict;
	__u64 end;

	if (a->kind != EPF_KIND_DICT)
		return 0;
	end = f->shape.buckets + f->shape.yard;
	if (end - *nr > STEP_BUCKETS(f))
		end = *nr + STEP_BUCKETS(f);
	for (; *nr < end; ++*nr)
		if (!epf_dict_sound(f, *nr))
			return -EINVAL;
	return end < f->shape.buckets + f->shape.yard;
}

bool epf_asked_place(struct epf_asked *a, __u64 *word)
{
	__u64 nr = 0;
	int ret;

	epf_asked_at(a, word);
	do
		ret = epf_asked_check(a, &nr);
	while (ret > 0);
	return !ret;
}

static int test(const struct epf_asked *a, __u64 digest)
{
	switch (a->kind) {
#define TEST(number, name)						\
	case number:							\
		return epf_##name##_test(&a->name, digest);
	PACED(TEST)
#undef TEST
	case EPF_KIND_TLBF:
		return epf_tlbf_test(&a->tlbf, digest, a->now_ns);
	default:
		return epf_chain_test(&a->chain, digest, a->now_ns);
	}
}

unsigned char epf_asked_age(const struct epf_asked *a, __u64 digest)
{
	int verdict = test(a, digest);

	if (!verdict)
		return EPF_AGE_ABSENT;
	return verdict - EPF_PRESENT < (int)EPF_AGES_MAX ?
		       (unsigned char)(verdict - EPF_PRESENT) :
		       EPF_AGES_MAX - 1;
}
