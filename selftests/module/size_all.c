// SPDX-License-Identifier: GPL-2.0
/* usage: size_all FILE: writes the records that tests need from test_sized(). */
#include "sized.h"

static const double asked[][2] = {
	{ 20000, 1e-3 },   /* images.c and meanwhile.c */
	{ 40000, 1e-3 },   /* load_images */
	{ 1 << 20, 1e-3 }, /* meanwhile */
	{ 1400, .01 },     /* events */
	{ 14000, .01 },    /* promise */
	{ 6000, .01 },     /* make_kind */
};

static const __u32 kinds[] = {
	EPF_KIND_GE,   EPF_KIND_GEBL, EPF_KIND_APBF,  EPF_KIND_APBBF,
	EPF_KIND_DICT, EPF_KIND_TLBF, EPF_KIND_CHAIN, EPF_KIND_ELASTIC,
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "we") : NULL;
	size_t i, k;

	if (!file)
		return 2;
	for (i = 0; i < NR(asked); i++) {
		for (k = 0; k < NR(kinds); k++) {
			struct sized s = { .keys = asked[i][0], .budget = asked[i][1] };
			struct epf_compare_req req = { s.keys, s.budget, 0 };

			test_demand(!epf_compare_kind(kinds[k], &req, &s.c));
			s.c.kind = s.c.promise = NULL;
			fwrite(&s, sizeof(s), 1, file);
		}
	}
	return fclose(file) ? 1 : 0;
}
