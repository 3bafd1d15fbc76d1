/* SPDX-License-Identifier: GPL-2.0 */
/* Parameters of filters that tests make. */
#ifndef SELFTESTS_PARAMS_H
#define SELFTESTS_PARAMS_H

#include <linux/epochfilter.h>

/* Fields of struct epf_params: @lines lines, @parts of them a key, @bits positions, a window of
 * @window keys, and no limit of the error.
 */
#define PARAMS(lines, parts, bits, window)                                     \
	.nr_lines = (lines), .lines_per_key = (parts), .bits_per_key = (bits), \
	.window_inserts = (window), .budget_ppt = 1, .limit_ppt = EPF_RATE_ONE

#endif /* SELFTESTS_PARAMS_H */
