// SPDX-License-Identifier: GPL-2.0
/*
 * Property: the functions that libepf calls give the core's results for lines and keys
 * in the host's memory: cached lines, updated by a journal and copied again; bitmaps,
 * ages and counts; cached columns; counts of positions; keys made on the card. All devices
 * share the work where there are several.
 *
 * usage: table [KEYS]    (100 million; 20,000 under emulation)
 */
#include "device.h"

#include <epf/journal.h>
#include <epf_cuda.h>
#include <string.h>

#ifndef KEYS
#define KEYS 100000000ULL
#endif
#define EPOCH 43 /* any */

extern "C" const struct epf_cuda_ops *epf_cuda_ops(void);

#define CLAIMS 6

/**
 * struct side - the host's side
 * @held: the cached lines on the card
 */
struct side : core {
	struct epf_cuda_held *held;
};

static const struct epf_cuda_ops *ops;

/* End the program if a call fails. */
static void well(int ret, const struct epf_cuda_error *e)
{
	if (!ret)
		return;
	printf("Bail out! %s\n", e->text);
	exit(1);
}

/* Fill lanes half, without stale ones. */
static void noise(void *self, __u64 first, __u64 n)
{
	struct side *s = (struct side *)self;
	__u64 *word = s->f.line->lane, i;

	for (i = first; i < first + n; i++)
		word[i] = (epf_word(i, 1) & ~EPF_TAG_MASK) | epf_lane_tag(EPOCH, i % EPF_LANES);
}

static void make(struct side *s, unsigned int shape, __u64 n)
{
	__u32 parts = shapes[shape].parts;
	__u64 lines = (n / 100 | 1) * parts, i;
	struct epf_cuda_lines there = {};
	struct epf_cuda_error e;

	memset(s, 0, sizeof(*s));
	if (epf_geom_init(&s->f.geom, lines, parts, shapes[shape].k))
		abort();
	s->n = n;
	s->epoch = EPOCH;
	s->f.epoch = &s->epoch;
	s->f.line = (struct epf_line *)host_memory(bytes_of(s));
	s->digest = (__u64 *)host_memory(n * sizeof(*s->digest));
	s->age = (__u8 *)host_memory(n);
	in_parallel(noise, s, lines * EPF_LANES);
	for (i = 0; i < n; i++)
		s->digest[i] = epf_word(i, 3);
	core_answer(s, n);
	there.line = s->f.line;
	there.geom = s->f.geom;
	there.epoch = EPOCH;
	well(ops->hold(&there, 0, &s->held, &e), &e);
}

static void drop(struct side *s)
{
	ops->release(s->held);
	free(s->f.line);
	free(s->digest);
	free(s->age);
}

/* Return: NULL, or what differs from the core. */
static const char *differs(const struct side *s, const struct epf_cuda_answer *a)
{
	__u64 of[256] = { 0 }, i;

	for (i = 0; i < s->n; i++) {
		of[s->age[i]]++;
		if ((a->bitmap[i / 8] >> i % 8 & 1) != (s->age[i] != EPF_AGE_ABSENT))
			return "another bitmap";
	}
	if (s->n % 8 && a->bitmap[s->n / 8] >> s->n % 8)
		return "bits behind the last key";
	if (a->ages && memcmp(a->ages, s->age, s->n))
		return "other ages";
	return memcmp(a->ages_of, of, sizeof(a->ages_of)) ? "other counts" : NULL;
}

static const char *ask(const struct side *s, bool ages, bool column)
{
	struct epf_cuda_keys k = { s->digest, s->n, 0, 0 };
	struct epf_cuda_answer a = {};
	struct epf_cuda_column *c = NULL;
	struct epf_cuda_error e;
	const char *wrong;

	a.bitmap = (unsigned char *)host_memory(s->n / 8 + 1);
	a.ages = ages ? (unsigned char *)host_memory(s->n) : NULL;
	memset(a.bitmap, 0x5a, s->n / 8 + 1);
	if (column) {
		well(ops->load(&k, 0, &c, &e), &e);
		well(ops->query_column(s->held, c, 0, s->n, &a, &e), &e);
		ops->unload(c);
	} else {
		well(ops->query(s->held, &k, &a, &e), &e);
	}
	wrong = differs(s, &a);
	free(a.bitmap);
	free(a.ages);
	return wrong;
}

static bool same_tally(const struct side *s)
{
	size_t bytes = EPF_CU_TALLY * sizeof(__u64);
	__u64 *got = (__u64 *)host_memory(bytes);
	__u64 sum = 0, want = 0, i;
	struct epf_cuda_error e;

	memset(got, 0, bytes);
	well(ops->tally(s->held, got, &e), &e);
	for (i = 0; i < EPF_CU_TALLY; i++)
		sum += got[i] * (i % (EPF_LANE_BITS + 1));
	for (i = 0; i < epf_geom_lines(&s->f.geom) * EPF_LANES; i++)
		want += epf_popcount(s->f.line->lane[i] & ~EPF_TAG_MASK);
	free(got);
	return sum == want;
}

/* Make the keys of make(), except for the first word. */
static bool same_chance(const struct side *s)
{
	struct side h = *s;
	__u64 got = 0, want = 0, i;
	struct epf_cuda_error e;

	h.n = s->n / 4;
	h.digest = (__u64 *)host_memory(h.n * sizeof(*h.digest));
	h.age = (__u8 *)host_memory(h.n);
	for (i = 0; i < h.n; i++)
		h.digest[i] = epf_word(77 + i, 1);
	core_answer(&h, h.n);
	for (i = 0; i < h.n; i++)
		want += h.age[i] != EPF_AGE_ABSENT;
	well(ops->chance(s->held, 77, h.n, &got, &e), &e);
	free(h.digest);
	free(h.age);
	return got == want;
}

/* Apply three epochs of a journal at once. */
static bool same_journal(struct side *s)
{
	__u64 n = s->n / 10, per_epoch = n / 3 + 1, i;
	struct epf_journal_record *r = (struct epf_journal_record *)host_memory(n * sizeof(*r));
	struct epf_line *got = (struct epf_line *)host_memory(bytes_of(s));
	struct epf_cuda_error e;
	struct epf_probe p;
	bool same;

	for (i = 0; i < n; i++) {
		s->epoch = EPOCH + 1 + i / per_epoch;
		r[i].seq = (n + i) << EPF_JOURNAL_KIND_BITS | EPF_JOURNAL_INSERT;
		r[i].epoch = s->epoch;
		r[i].value = s->digest[i];
		r[i].more = 1ULL << (s->epoch & 7);
		epf_probe(&s->f, s->digest[i], &p);
		epf_lanes_insert(&s->f, &p);
	}
	epf_lanes_scan(&s->f, 0, epf_geom_lines(&s->f.geom));
	well(ops->apply(s->held, r, n, s->epoch, &e), &e);
	well(ops->fetch(s->held, got, &e), &e);
	same = !memcmp(got, s->f.line, bytes_of(s));
	free(r);
	free(got);
	return same;
}

static void claim_shape(unsigned int shape, __u64 n)
{
	struct side s;
	char name[16];

	snprintf(name, sizeof(name), "L=%u k=%u", shapes[shape].parts, shapes[shape].k);
	make(&s, shape, n);
	claim(ask(&s, false, false), name, "keys of the host, a bitmap");
	claim(ask(&s, true, false), name, "keys of the host, ages too");
	claim(ask(&s, true, true), name, "keys that stay on the card");
	tap_ok(same_tally(&s), "%s: positions set are counted", name);
	tap_ok(same_chance(&s), "%s: keys made on the card", name);
	tap_ok(same_journal(&s), "%s: a journal brings the lines on", name);
	drop(&s);
}

int main(int argc, char **argv)
{
	__u64 n = argc > 1 ? strtoull(argv[1], NULL, 10) : KEYS;
	struct epf_cuda_devices devices;
	struct epf_cuda_error e;
	unsigned int i;

	ops = epf_cuda_ops();
	setenv("EPF_EMU_DEVICES", "2", 0); /* of the emulation */
	if (ops->probe(EPF_CUDA_ALL, &devices, &e)) {
		tap_skip_all(e.text);
		return TAP_SKIPPED;
	}
	if (n < 10000) /* enough for the smallest lines */
		n = 10000;
	tap_plan(CLAIMS * SHAPES);
	for (i = 0; i < SHAPES; i++)
		claim_shape(i, n | 5); /* a bitmap that does not end at a byte */
	return tap_end();
}
