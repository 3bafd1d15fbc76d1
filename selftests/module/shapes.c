// SPDX-License-Identifier: GPL-2.0
/*
 * Shapes of the locked kinds: every number at its limits and beyond them, fields that
 * must be zero, and sizes that are too large.
 */
#include "../locked.h"
#include "epftest.h"

#define OF(kind, field) \
	offsetof(struct epf_shape, kind.field), sizeof(((struct epf_shape *)0)->kind.field)

/* One changed number of the shape of locked_shape(). */
static const struct {
	__u32 kind;
	size_t off, bytes;
	__u64 value;
	int want;
} changes[] = {
	{ EPF_KIND_GE, OF(ge, segment_bits), 63, -EINVAL },
	{ EPF_KIND_GE, OF(ge, segment_bits), 64, 0 },
	{ EPF_KIND_GE, OF(ge, segment_bits), (1ULL << 40) + 1, -EINVAL },
	{ EPF_KIND_GE, OF(ge, segment_bits), 1ULL << 40, -EINVAL },
	{ EPF_KIND_GE, OF(ge, segment_bits), 1ULL << 36, -E2BIG },
	{ EPF_KIND_GE, OF(ge, segment_bits), -1ULL, -EINVAL },
	{ EPF_KIND_GE, OF(ge, epochs), 1, -EINVAL },
	{ EPF_KIND_GE, OF(ge, epochs), 2, 0 },
	{ EPF_KIND_GE, OF(ge, epochs), 31, 0 },
	{ EPF_KIND_GE, OF(ge, epochs), 32, -EINVAL },
	{ EPF_KIND_GE, OF(ge, bits), 0, -EINVAL },
	{ EPF_KIND_GE, OF(ge, bits), 64, 0 },
	{ EPF_KIND_GE, OF(ge, bits), 65, -EINVAL },
	{ EPF_KIND_GE, OF(ge, layout), 1, 0 },
	{ EPF_KIND_GE, OF(ge, layout), 2, -EINVAL },
	{ EPF_KIND_GE, OF(ge, reserved), 1, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, blocks), 0, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, blocks), (1ULL << 34) + 1, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, blocks), -1ULL, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, block_bits), 32, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, block_bits), 96, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, block_bits), 512, 0 },
	{ EPF_KIND_GEBL, OF(gebl, block_bits), 1024, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, epochs), 1, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, epochs), 32, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, bits), 0, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, bits), 21, -EINVAL },
	{ EPF_KIND_GEBL, OF(gebl, offsets), 1, 0 },
	{ EPF_KIND_GEBL, OF(gebl, offsets), 2, -EINVAL },
	{ EPF_KIND_APBF, OF(apbf, slice_bits), 63, -EINVAL },
	{ EPF_KIND_APBF, OF(apbf, slice_bits), 64, 0 },
	{ EPF_KIND_APBF, OF(apbf, slice_bits), (1ULL << 38) + 1, -EINVAL },
	{ EPF_KIND_APBF, OF(apbf, slice_bits), 1ULL << 38, -E2BIG },
	{ EPF_KIND_APBF, OF(apbf, k), 0, -EINVAL },
	{ EPF_KIND_APBF, OF(apbf, k), 116, 0 },
	{ EPF_KIND_APBF, OF(apbf, k), 117, -EINVAL },
	{ EPF_KIND_APBF, OF(apbf, l), 0, -EINVAL },
	{ EPF_KIND_APBF, OF(apbf, l), -1ULL, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, blocks), 0, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, blocks), -1ULL, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, block_bits), 48, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, bits), 0, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, bits), 3, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, bits), 4, 0 },
	{ EPF_KIND_APBBF, OF(apbbf, bits), 128, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, k), 0, -EINVAL },
	{ EPF_KIND_APBBF, OF(apbbf, l), 126, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, buckets), 0, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, buckets), (1ULL << 30) + 1, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, yard), 0, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, yard), -1ULL, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, generations), 1, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, generations), 6, 0 },
	{ EPF_KIND_DICT, OF(dict, generations), 7, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, tag_bits), 1, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, tag_bits), 9, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, rem_bits), 0, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, rem_bits), 41, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, slots), 0, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, slots), -1ULL, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, lines), 0, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, lines), 2, 0 },
	{ EPF_KIND_DICT, OF(dict, lines), 3, -EINVAL },
	{ EPF_KIND_DICT, OF(dict, reserved), 1, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, lines), 0, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, lines), 1, 0 },
	{ EPF_KIND_ELASTIC, OF(elastic, lines), (1ULL << 31) + 1, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, lines), -1ULL, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, line_words), 0, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, line_words), 12, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, line_words), 16, 0 },
	{ EPF_KIND_ELASTIC, OF(elastic, line_words), 32, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, epochs), 1, -EINVAL },
	{ EPF_KIND_ELASTIC, OF(elastic, epochs), 2, 0 },
	{ EPF_KIND_ELASTIC, OF(elastic, epochs), 7, 0 },
	{ EPF_KIND_ELASTIC, OF(elastic, epochs), 8, -EINVAL },
};

/* Create and remove it. Return: the result of EPF_IOC_CREATE. */
static int try(const struct epf_params *p, const struct epf_shape *s)
{
	const struct epf_create_opts o = { .size = sizeof(o), .shape = s, .key = test_key };
	int ret = epf_dev_create_opts(test_dev, p, &o, NULL);

	if (!ret)
		test_demand(!test_destroy(p->name, 0));
	return ret;
}

static void limits(void)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(changes); i++) {
		struct epf_params p = test_locked_params("mod-shapes", changes[i].kind, 300);
		struct epf_shape s = locked_shape(changes[i].kind);

		memcpy((char *)&s + changes[i].off, &changes[i].value, changes[i].bytes);
		test_is(try(&p, &s), changes[i].want, "%s: %#llx at %zu",
			locked_name(changes[i].kind), changes[i].value, changes[i].off);
	}
}

#define KIND_POINTS 5
static void must_be_zero(__u32 kind)
{
	struct epf_params p = test_locked_params("mod-shapes", kind, 300);
	struct epf_shape s = locked_shape(kind);

	s.all[7] = 1;
	test_is(try(&p, &s), -EINVAL, "%s: more than it uses", locked_name(kind));
	s.all[7] = 0;
	p.nr_lines = 64;
	test_is(try(&p, &s), -EINVAL, "%s: lines", locked_name(kind));
	p.nr_lines = 0;
	p.bits_per_key = 1;
	test_is(try(&p, &s), -EINVAL, "%s: bits per key", locked_name(kind));
	p.bits_per_key = 0;
	p.window_inserts = 0;
	test_is(try(&p, &s), -EINVAL, "%s: no window", locked_name(kind));
	memset(&s, 0, sizeof(s));
	p.window_inserts = 300;
	test_is(try(&p, &s), -EINVAL, "%s: no shape", locked_name(kind));
}

int main(void)
{
	struct epf_params p = test_params("mod-shapes", 64, 1, 5, 300);
	__u32 kinds[EPF_KIND_MAX], nr = locked_fixed_kinds(kinds), i;
	struct epf_shape s = { 0 };

	test_begin((int)(ARRAY_LEN(changes) + nr * KIND_POINTS + 1));
	limits();
	for (i = 0; i < nr; i++)
		must_be_zero(kinds[i]);
	s.all[3] = 1;
	test_is(try(&p, &s), -EINVAL, "lanes: a shape");
	return test_end();
}
