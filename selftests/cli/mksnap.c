// SPDX-License-Identifier: GPL-2.0
/*
 * mksnap [--dict | --keys KIND,KEY,FLAGS,BYTES] FILE [FAULT]: makes a valid snapshot of
 * an empty filter, or one with correct checksums and impossible contents. Its kind is
 * lanes, or with --dict dict, whose memory must be consistent. --keys: how its keys are
 * made.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <linux/epochfilter.h>

#define LINES 64u
#define LINE_BYTES 64u
#define WORDS 96u /* of the dictionary */

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
		h->params.bits_per_key = 32;
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
		h->params.name[0] = '\033'; /* an escape sequence of the terminal */
	else if (!strcmp(fault, "epoch"))
		h->epoch_begin = 0;
	else if (!strcmp(fault, "epoch-order"))
		h->epoch_begin = h->epoch_end + 1;
	else
		exit(2);
}

static void spoil_locked(struct epf_snap_header *h, struct epf_snap_locked *s, __u64 *words,
			 const char *fault)
{
	if (!strcmp(fault, "state-size"))
		s->size -= 8;
	else if (!strcmp(fault, "state-shape"))
		s->shape.dict.slots = 0;
	else if (!strcmp(fault, "state-words"))
		s->words = 1ULL << 61; /* times 8 is 0 */
	else if (!strcmp(fault, "state-more"))
		s->words += 8;
	else if (!strcmp(fault, "state-less"))
		s->words -= 8;
	else if (!strcmp(fault, "state-now"))
		s->now = 8;
	else if (!strcmp(fault, "state-epoch"))
		s->epoch = h->epoch_end + 1;
	else if (!strcmp(fault, "state-past"))
		s->past[255].inserts = 1ULL << 40;
	else if (!strcmp(fault, "state-kind"))
		h->params.kind = EPF_KIND_GE;
	else if (!strcmp(fault, "state-mode"))
		h->params.kind = EPF_KIND_TLBF;
	else if (!strcmp(fault, "memory-map"))
		words[8] = ~0ULL; /* more cells than a bucket has room for */
	else if (!strcmp(fault, "locked-lines"))
		h->params.nr_lines = LINES;
	else
		spoil(h, fault);
}

/* Make a dictionary of ten buckets and two in the backyard. */
static void make_locked(struct epf_snap_header *h, struct epf_snap_locked *s)
{
	h->params.kind = EPF_KIND_DICT;
	h->params.lines_per_key = 0;
	h->params.bits_per_key = 0;
	h->params.nr_lines = 0;
	s->size = sizeof(*s);
	s->words = WORDS;
	s->shape.dict = (struct epf_shape_dict){ 10, 2, 5, 3, 7, 16, 1, 0 };
	s->epoch = 9;
	s->now = 1;
}

static __u64 sum_of(const void *words, size_t bytes, const struct epf_snap_locked *s)
{
	XXH3_state_t *state = XXH3_createState();
	__u64 sum;

	if (!state)
		exit(1);
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, words, bytes);
	XXH3_64bits_update(state, s, sizeof(*s));
	sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return sum;
}

static void describe(struct epf_snap_header *h, struct epf_key_desc *d, __u32 bytes,
		     const char *arg)
{
	unsigned int kind, key, flags;

	h->version = EPF_SNAP_VERSION_DESC;
	h->header_bytes = bytes;
	if (sscanf(arg, "%u,%u,%u,%u", &kind, &key, &flags, &d->max_bytes) != 4)
		exit(2);
	d->kind = (__u8)kind;
	d->key = (__u8)key;
	d->flags = (__u16)flags;
}

int main(int argc, char **argv)
{
	static char lines[LINES * LINE_BYTES];
	static __u64 words[WORDS];
	static struct epf_snap_locked locked;
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
	struct {
		struct epf_snap_header h;
		struct epf_key_desc desc;
	} head = { .desc = { 0 } };
	bool keys = argc > 3 && !strcmp(argv[1], "--keys");
	bool dict = argc > 2 && !strcmp(argv[1], "--dict");
	FILE *f;

	if (keys)
		describe(&h, &head.desc, sizeof(head), argv[2]);
	argc -= dict + 2 * keys;
	argv += dict + 2 * keys;
	if (argc < 2 || argc > 3)
		return 2;
	if (dict)
		make_locked(&h, &locked);
	if (argc == 3 && dict)
		spoil_locked(&h, &locked, words, argv[2]);
	h.lines_xxh3 = dict ? sum_of(words, sizeof(words), &locked) :
			      XXH3_64bits(lines, sizeof(lines));
	if (argc == 3 && !dict)
		spoil(&h, argv[2]);
	memcpy(&head.h, &h, sizeof(h));
	head.h.header_xxh3 = XXH3_64bits(&head, keys ? sizeof(head) : sizeof(h));
	f = fopen(argv[1], "w");
	if (!f || fwrite(&head, keys ? sizeof(head) : sizeof(h), 1, f) != 1 ||
	    (dict && (fwrite(&locked, sizeof(locked), 1, f) != 1 ||
		      fwrite(words, sizeof(words), 1, f) != 1)) ||
	    (!dict && fwrite(lines, sizeof(lines), 1, f) != 1) || fclose(f))
		return 1;
	return 0;
}
