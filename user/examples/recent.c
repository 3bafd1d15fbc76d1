// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads lines, and prints those that were not there in the last ten minutes: repeats of log
 * lines, without a kernel and without a list of all lines.
 *
 *	cc recent.c $(pkg-config --cflags --libs libepf) -o recent
 *	tail -f app.log | ./recent
 */
#include <libepf.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	struct libepf_plan plan = {
		.size = sizeof(plan),
		.window_ns = UINT64_C(600000000000),
		.rate = 1000, /* lines a second */
		.error = 1e-6,
	};
	struct libepf_filter *filter;
	char line[4096];

	if (libepf_filter_new(&plan, LIBEPF_NOW, &filter)) {
		fprintf(stderr, "recent: %s\n", libepf_error());
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		size_t len = strlen(line);
		struct libepf_keys key = {
			.data = line,
			.n = 1,
			.len = len < LIBEPF_KEY_MAX ? len : LIBEPF_KEY_MAX,
		};

		if (libepf_filter_test_and_insert(filter, &key, LIBEPF_NOW, NULL) == 0)
			fputs(line, stdout);
	}
	libepf_filter_free(filter);
	return 0;
}
