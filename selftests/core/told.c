// SPDX-License-Identifier: GPL-2.0
/*
 * What a filter reports about itself at unusual moments, against the model: before the
 * window is full, right after a rotation, after a pause; with one, two and four lines
 * per key. Numbers are exact; errors may differ by the rounding of q56.
 */
#include <epf.h>

#include <endian.h>
#include <math.h>
#include <stdlib.h>

#include "../params.h"
#include "tap.h"
#include "told_vectors.h"

#define PPT ((double)EPF_RATE_ONE)
#define POSITIONS 62
#define NR(table) (sizeof(table) / sizeof((table)[0]))

static const __u64 hash_key[2] = TOLD_KEY;

static struct epf_mem *make(unsigned int shape)
{
	struct epf_params p = {
		PARAMS(told_shapes[shape].nr_lines, told_shapes[shape].parts, told_shapes[shape].k,
		       told_shapes[shape].inserts),
	};
	int err;
	struct epf_mem *m = epf_mem_new(&p, hash_key, TOLD_START, &err);

	if (!m)
		abort();
	return m;
}

/* Half a millionth, and two units in the last reported place. */
static bool near(__u64 ppt, double want)
{
	return fabs((double)ppt - want * PPT) <= want * PPT * 5e-7 + 2;
}

static bool same_epochs(const struct epf_info *info, __typeof__(&told_rows[0]) row, __u64 positions)
{
	bool good = true;
	unsigned int age;

	for (age = 0; age < EPF_EPOCHS; age++) {
		const struct epf_epoch_info *got = &info->epochs[age];
		bool same = got->inserts == row->of[age].inserts &&
			    got->age_ns == row->of[age].age_ns &&
			    got->fill_ppt == row->of[age].set * EPF_RATE_ONE / positions &&
			    near(got->fpr_ppt, row->of[age].fpr);

		if (!same)
			printf("# age %u: %llu insertions, model %llu; %llu ns, %llu; full %llu, %llu of %llu; errs %llu, %.12g\n",
			       age, got->inserts, row->of[age].inserts, got->age_ns,
			       row->of[age].age_ns, got->fill_ppt, row->of[age].set, positions,
			       got->fpr_ppt, row->of[age].fpr);
		good = good && same;
	}
	return good;
}

static bool same_row(const struct epf_mem *m, unsigned int shape, __typeof__(&told_rows[0]) row,
		     __u64 now)
{
	struct epf_info info;
	bool good;

	epf_mem_info(m, now, &info);
	good = info.epoch == row->epoch && info.covered_inserts == row->covered_inserts &&
	       info.covered_ns == row->covered_ns && info.age_ns == now - TOLD_START &&
	       near(info.fpr_ppt, row->fpr);
	if (!good)
		printf("# epoch %llu, model %llu; covered %llu, %llu, in ns %llu, %llu; errs %llu, %.12g\n",
		       info.epoch, row->epoch, info.covered_inserts, row->covered_inserts,
		       info.covered_ns, row->covered_ns, info.fpr_ppt, row->fpr);
	return same_epochs(&info, row, told_shapes[shape].nr_lines * POSITIONS) && good;
}

static void try_shape(unsigned int shape)
{
	struct epf_mem *m = make(shape);
	__u64 now = TOLD_START;
	unsigned int i, n, key = 0, bad = 0;

	for (i = 0; i < TOLD_ROWS; i++) {
		__typeof__(&told_rows[0]) row = &told_rows[shape * TOLD_ROWS + i];

		now += row->dt;
		for (n = 0; n < row->inserts; n++, key++) {
			__u32 bytes = htole32(key);

			epf_mem_insert(m, epf_mem_digest(m, &bytes, sizeof(bytes)), now);
		}
		if (row->rotate)
			epf_mem_rotate(m, now);
		bad += !same_row(m, shape, row, now);
	}
	tap_ok(!bad, "%u lines, L = %u, k = %u, W = %u: %u of %u moments as the model tells",
	       told_shapes[shape].nr_lines, told_shapes[shape].parts, told_shapes[shape].k,
	       told_shapes[shape].inserts, TOLD_ROWS - bad, TOLD_ROWS);
	epf_mem_free(m);
}

int main(void)
{
	unsigned int i;

	tap_plan(NR(told_shapes));
	for (i = 0; i < NR(told_shapes); i++)
		try_shape(i);
	return tap_end();
}
