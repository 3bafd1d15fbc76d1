// SPDX-License-Identifier: GPL-2.0
/*
 * mkhost FILE [WHAT=NUMBER]...: makes the snapshot of a host: an aligned filter with a
 * window of 70 s, full of its own keys. WHAT: id (of the host, and its keys), keys (in
 * each epoch), ago (ms by which it was saved before the others), off (ms by which its
 * epochs end late), epoch (number), lines, bits, window (s), mode, hash, kind, key,
 * budget (ppt), made (how keys are made, enum epf_key_kind).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "epf/window.h"

#define MS 1000000ULL
#define SEC (1000 * MS)
#define NOW (1700000000ULL * SEC)

static const char *const whats[] = {
	"id",     "keys", "ago",  "off",  "epoch", "lines",  "bits",
	"window", "mode", "hash", "kind", "key",   "budget", "made",
};
enum {
	ID,
	PER_EPOCH,
	AGO,
	OFF,
	EPOCH,
	LINES,
	BITS,
	WINDOW,
	MODE,
	HASH,
	KIND,
	KEY,
	BUDGET,
	MADE,
	WHATS
};
static unsigned long long value[WHATS] = {
	1, 10, 0, 0, 1000, 64, 10, 70, EPF_MODE_TIME, 0, 0, 1, 100000000, 0,
};

static void take(const char *word)
{
	size_t len = strcspn(word, "=");
	int i;

	for (i = 0; i < WHATS; i++)
		if (strlen(whats[i]) == len && !strncmp(word, whats[i], len)) {
			value[i] = strtoull(word + len + 1, NULL, 0);
			return;
		}
	exit(2);
}

/* Set the last boundary before the snapshot, and those before it. */
static void set_times(struct epf_snap_header *h)
{
	__u64 pitch = epf_align_pitch((h->params.window_ns + 6) / 7);
	__u64 begun = NOW / pitch * pitch + value[OFF] * MS;
	__u64 age;

	h->realtime_ns = NOW / pitch * pitch + pitch / 2 - value[AGO] * MS;
	while (begun > h->realtime_ns)
		begun -= pitch;
	for (age = 0; age < EPF_EPOCHS; age++) {
		h->epochs[(h->epoch_end - age) % EPF_EPOCHS].age_ns = h->realtime_ns - begun +
								      age * pitch;
		h->epochs[(h->epoch_end - age) % EPF_EPOCHS].inserts = value[PER_EPOCH];
	}
}

static void fill(struct epf_line *line, const struct epf_snap_header *h)
{
	__u64 epoch, n;
	struct epf_lanes f = { line, &epoch, { 0 } };
	struct epf_probe p;

	if (epf_geom_init(&f.geom, h->params.nr_lines, 2, h->params.bits_per_key))
		exit(2);
	for (epoch = h->epoch_end - 7; epoch <= h->epoch_end; epoch++)
		for (n = 0; n < value[PER_EPOCH]; n++) {
			epf_probe(&f, epf_word(value[ID] << 40 | epoch << 20 | n, 1), &p);
			epf_lanes_insert(&f, &p);
		}
}

static int write_out(const char *path, struct epf_snap_header *h, const struct epf_line *line)
{
	size_t bytes = h->params.nr_lines * sizeof(*line);
	struct {
		struct epf_snap_header h;
		struct epf_key_desc desc;
	} head = { .desc.kind = (__u8)value[MADE] };
	FILE *f = fopen(path, "w");

	if (value[MADE]) {
		h->version = EPF_SNAP_VERSION_DESC;
		h->header_bytes = sizeof(head);
	}
	h->lines_xxh3 = XXH3_64bits(line, bytes);
	memcpy(&head.h, h, sizeof(*h));
	head.h.header_xxh3 = XXH3_64bits(&head, h->header_bytes);
	return !f || fwrite(&head, h->header_bytes, 1, f) != 1 || fwrite(line, bytes, 1, f) != 1 ||
	       fclose(f);
}

int main(int argc, char **argv)
{
	struct epf_snap_header h = {
		.magic = EPF_SNAP_MAGIC,
		.version = EPF_SNAP_VERSION,
		.header_bytes = sizeof(h),
	};
	struct epf_line *line;
	int i;

	for (i = 2; i < argc; i++)
		take(argv[i]);
	strcpy(h.params.name, "host");
	h.params.kind = (__u8)value[KIND];
	h.params.hash = (__u8)value[HASH];
	h.params.mode = (__u8)value[MODE];
	h.params.lines_per_key = 2;
	h.params.bits_per_key = (__u16)value[BITS];
	h.params.nr_lines = value[LINES];
	h.params.window_ns = value[WINDOW] * SEC;
	h.params.window_inserts = h.params.mode == EPF_MODE_BOTH;
	h.params.budget_ppt = value[BUDGET];
	h.params.limit_ppt = 2 * value[BUDGET];
	h.key[0] = value[KEY];
	h.epoch_begin = h.epoch_end = value[EPOCH];
	h.inserts = 8 * value[PER_EPOCH];
	set_times(&h);
	line = calloc(value[LINES], sizeof(*line));
	if (!line || argc < 2)
		return 2;
	fill(line, &h);
	return write_out(argv[1], &h, line);
}
