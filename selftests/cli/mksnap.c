// SPDX-License-Identifier: GPL-2.0
/*
 * mksnap FILE [FAULT]: a snapshot of an empty filter, sound in itself, or one
 * whose checksums are right and whose contents cannot be.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <linux/epochfilter.h>

#define LINES 64u
#define LINE_BYTES 64u

static void spoil(struct epf_snap_header *h, const char *fault)
{
	if (!strcmp(fault, "magic"))
		h->magic++;
	else if (!strcmp(fault, "version"))
		h->version++;
	else if (!strcmp(fault, "header_bytes"))
		h->header_bytes -= 8;
	else if (!strcmp(fault, "kind"))
		h->params.kind = 99;
	else if (!strcmp(fault, "no-lines"))
		h->params.nr_lines = 0;
	else if (!strcmp(fault, "lines-overflow"))
		h->params.nr_lines = 1ULL << 58; /* times 64 is 0 */
	else if (!strcmp(fault, "lines-per-key"))
		h->params.lines_per_key = 3;
	else if (!strcmp(fault, "bits-per-key"))
		h->params.bits_per_key = 31;
	else if (!strcmp(fault, "mode"))
		h->params.mode = EPF_MODE_MAX + 1;
	else if (!strcmp(fault, "window"))
		h->params.window_inserts = 1ULL << 41;
	else if (!strcmp(fault, "budget"))
		h->params.budget_ppt = 0;
	else if (!strcmp(fault, "limit"))
		h->params.limit_ppt = EPF_RATE_ONE + 1;
	else if (!strcmp(fault, "name"))
		memset(h->params.name, 'n', sizeof(h->params.name));
	else if (!strcmp(fault, "name-empty"))
		h->params.name[0] = 0;
	else if (!strcmp(fault, "name-escape"))
		h->params.name[0] = '\033'; /* to the terminal */
	else if (!strcmp(fault, "epoch"))
		h->epoch_begin = 0;
	else if (!strcmp(fault, "epoch-order"))
		h->epoch_begin = h->epoch_end + 1;
	else
		exit(2);
}

int main(int argc, char **argv)
{
	static char lines[LINES * LINE_BYTES];
	struct epf_snap_header h = {
		.magic = EPF_SNAP_MAGIC,
		.version = EPF_SNAP_VERSION,
		.header_bytes = sizeof(h),
		.params = {
			.name = "sample",
			.lines_per_key = 2,
			.bits_per_key = 10,
			.nr_lines = LINES,
			.window_inserts = 700,
			.budget_ppt = 100000000,
			.limit_ppt = 200000000,
		},
		.key = { 1, 2 },
		.epoch_begin = 8,
		.epoch_end = 9,
		.inserts = 123,
		.realtime_ns = 1700000000000000000ULL,
	};
	FILE *f;

	if (argc < 2 || argc > 3)
		return 2;
	h.lines_xxh3 = XXH3_64bits(lines, sizeof(lines));
	if (argc == 3)
		spoil(&h, argv[2]);
	h.header_xxh3 = XXH3_64bits(&h, sizeof(h));
	f = fopen(argv[1], "w");
	if (!f || fwrite(&h, sizeof(h), 1, f) != 1 ||
	    fwrite(lines, sizeof(lines), 1, f) != 1 || fclose(f))
		return 1;
	return 0;
}
