// SPDX-License-Identifier: GPL-2.0
/*
 * Property: a card gives the same results as the core, bit by bit, for many keys:
 * lines, bitmaps, ages, histograms, counts.
 *
 * usage: device [KEYS]    (100 million; 20,000 under emulation)
 *
 * Exit 4: no card.
 */
#include "device.h"

#include <string.h>

#include <epf/journal.h>

#ifndef KEYS /* fewer under emulation */
#define KEYS 100000000ULL
#endif
#define EPOCHS 20u /* of a stream: tags wrap two and a half times */
#define BITS_A_KEY 14
#define FULL 100 /* initial value of the counters */

/* Test points of a shape: lines, journal, questions, tails, keys, tally, probe, noise. */
#define CLAIMS 8

/**
 * struct filter - a filter in the core and on the card
 * @card: the filter on the card, filled there
 * @per_epoch: keys per epoch
 * @there: the keys to look up, on the card
 */
struct filter : core {
	struct epf_cu_lines card;
	__u64 per_epoch;
	__u64 *there;
};

static __u64 key(__u64 seed, __u64 i)
{
	return epf_word(seed + i, 1);
}

/* Copy @card to the host. Does it equal the core's lines without stale lanes? */
static bool equal_lines(const struct filter *s, const struct epf_line *card)
{
	struct epf_line *got = (struct epf_line *)host_memory(bytes_of(s));
	bool equal;

	to_host(got, card, bytes_of(s));
	epf_lanes_scan(&s->f, 0, epf_geom_lines(&s->f.geom));
	equal = !memcmp(got, s->f.line, bytes_of(s));
	free(got);
	return equal;
}

/* ---- lines ---- */

struct insertion {
	struct filter *s;
	__u64 first;
	__u64 *digest;
	struct epf_journal_record *record;
};

static void insert(void *self, __u64 first, __u64 n)
{
	struct insertion *w = (struct insertion *)self;
	struct epf_probe p;
	__u64 i;

	for (i = first; i < first + n; i++) {
		w->digest[i] = key(SEED_LIVE, w->first + i);
		epf_probe(&w->s->f, w->digest[i], &p);
		epf_lanes_insert(&w->s->f, &p);
		w->record[i].seq = (i + w->s->per_epoch) << EPF_JOURNAL_KIND_BITS |
				   EPF_JOURNAL_INSERT;
		w->record[i].epoch = w->s->epoch;
		w->record[i].value = w->digest[i];
		w->record[i].more = 1ULL << (w->s->epoch & 7);
	}
}

/* Fill one epoch: in the core, by insertions on the card, by a journal on the card. */
static void one_epoch(struct filter *s, struct insertion *w, struct epf_cu_lines *journal)
{
	struct epf_cu_keys k = { NULL, s->per_epoch, 0, { { 0, 0 }, 0 } };
	void *digest, *record;

	in_parallel(insert, w, s->per_epoch);
	digest = copied(w->digest, s->per_epoch * sizeof(*w->digest));
	record = copied(w->record, s->per_epoch * sizeof(*w->record));
	k.data = digest;
	s->card.epoch = journal->epoch = s->epoch;
	must(epf_cu_clear(&s->card, s->epoch, NULL));
	must(epf_cu_clear(journal, s->epoch, NULL));
	must(epf_cu_insert(&s->card, &k, s->epoch, NULL));
	must(epf_cu_apply(journal, (struct epf_journal_record *)record, s->per_epoch, NULL));
	must(cudaDeviceSynchronize());
	cudaFree(digest);
	cudaFree(record);
}

/* Fill the stream. Scanned as in the module, so that no tag wraps. */
static void fill(struct filter *s, struct epf_cu_lines *journal)
{
	struct insertion w = { s, 0, NULL, NULL };
	__u32 i;

	w.digest = (__u64 *)host_memory(s->per_epoch * sizeof(*w.digest));
	w.record = (struct epf_journal_record *)host_memory(s->per_epoch * sizeof(*w.record));
	for (i = 0; i < EPOCHS; i++) {
		s->epoch = EPF_EPOCH_FIRST + i;
		w.first = i * s->per_epoch;
		one_epoch(s, &w, journal);
		epf_lanes_scan(&s->f, 0, epf_geom_lines(&s->f.geom));
	}
	free(w.digest);
	free(w.record);
}

static void make(struct filter *s, unsigned int shape, __u64 n)
{
	__u32 parts = shapes[shape].parts;
	__u64 lines;

	memset(s, 0, sizeof(*s));
	s->n = n;
	s->per_epoch = n / EPOCHS;
	lines = s->per_epoch * EPF_LIVE_EPOCHS * BITS_A_KEY / 512 / parts;
	if (epf_geom_init(&s->f.geom, (lines | 1) * parts, parts, shapes[shape].k))
		abort();
	s->f.epoch = &s->epoch;
	s->f.line = (struct epf_line *)host_memory(bytes_of(s));
	memset(s->f.line, 0, bytes_of(s));
	s->card.geom = s->f.geom;
	s->card.line = (struct epf_line *)copied(s->f.line, bytes_of(s));
}

static void claim_lines(struct filter *s, const char *name)
{
	struct epf_cu_lines journal = s->card;

	journal.line = (struct epf_line *)copied(s->f.line, bytes_of(s));
	fill(s, &journal);
	tap_ok(equal_lines(s, s->card.line),
	       "%s: %llu insertions in %u epochs make the core's lines", name,
	       (unsigned long long)s->per_epoch * EPOCHS, EPOCHS);
	tap_ok(equal_lines(s, journal.line), "%s: so does their journal", name);
	cudaFree(journal.line);
}

/* ---- questions ---- */

/* A quarter of the keys is fresh; the others were inserted, some too long ago. */
static __u64 asked(const struct filter *s, __u64 i)
{
	__u64 r = epf_word(i, 3);

	if (r % 4 == 0)
		return key(SEED_ABSENT, i);
	return key(SEED_LIVE, epf_mulhi(epf_word(i, 4), s->per_epoch * EPOCHS));
}

/* Draw the keys to look up, and the core's answers. */
static void ask_core(struct filter *s)
{
	__u64 i;

	s->digest = (__u64 *)host_memory(s->n * sizeof(*s->digest));
	s->age = (__u8 *)host_memory(s->n);
	for (i = 0; i < s->n; i++)
		s->digest[i] = asked(s, i);
	core_answer(s, s->n);
	s->there = (__u64 *)copied(s->digest, s->n * sizeof(*s->digest));
}

/**
 * The answers of the card, on the card.
 */
struct told {
	__u32 *bitmap;
	__u8 *ages;
	unsigned long long *count;
};

static size_t bitmap_bytes(__u64 n)
{
	return (n + 31) / 32 * sizeof(__u32);
}

/* Filled with values that no answer has. */
static void told_make(struct told *t, __u64 n)
{
	unsigned long long full[EPF_LANES];
	__u32 i;

	for (i = 0; i < EPF_LANES; i++)
		full[i] = FULL;
	t->bitmap = (__u32 *)there(bitmap_bytes(n));
	t->ages = (__u8 *)there(n);
	t->count = (unsigned long long *)copied(full, sizeof(full));
	must(cudaMemset(t->bitmap, 0x5a, bitmap_bytes(n)));
	must(cudaMemset(t->ages, 0x5a, n));
}

static void told_free(struct told *t)
{
	cudaFree(t->bitmap);
	cudaFree(t->ages);
	cudaFree(t->count);
}

static const char *counts_differ(const unsigned long long *got, const __u8 *age, __u64 n)
{
	unsigned long long want[256] = { 0 };
	__u64 i;

	for (i = 0; i < n; i++)
		want[age[i]]++;
	for (i = 0; i < EPF_LANES; i++)
		if (got[i] != want[i] + FULL)
			return "other counts";
	return NULL;
}

/* Return: NULL, or what differs from @age. */
static const char *differs(const struct told *t, const __u8 *age, __u64 n, bool ages)
{
	__u32 *bitmap = (__u32 *)host_memory(bitmap_bytes(n));
	__u8 *got = (__u8 *)host_memory(n);
	unsigned long long count[EPF_LANES];
	const char *wrong;
	__u64 i;

	must(cudaDeviceSynchronize());
	to_host(bitmap, t->bitmap, bitmap_bytes(n));
	to_host(count, t->count, sizeof(count));
	if (ages)
		to_host(got, t->ages, n);
	wrong = counts_differ(count, age, n);
	for (i = 0; i < bitmap_bytes(n) * 8 && !wrong; i++)
		if ((bitmap[i / 32] >> i % 32 & 1) != (i < n && age[i] != EPF_AGE_ABSENT))
			wrong = "another bitmap";
	if (!wrong && ages && memcmp(got, age, n))
		wrong = "other ages";
	free(bitmap);
	free(got);
	return wrong;
}

static const char *ask(const struct filter *s, const struct epf_cu_keys *k, const __u8 *age,
		       bool ages)
{
	struct told t;
	const char *wrong;

	told_make(&t, k->n);
	must(epf_cu_query(&s->card, k, t.bitmap, ages ? t.ages : NULL, t.count, NULL));
	wrong = differs(&t, age, k->n, ages);
	told_free(&t);
	return wrong;
}

static void claim_queries(const struct filter *s, const char *name)
{
	struct epf_cu_keys k = { s->there, s->n, 0, { { 0, 0 }, 0 } };
	const char *wrong = ask(s, &k, s->age, false);
	char what[64];

	if (!wrong)
		wrong = ask(s, &k, s->age, true);
	snprintf(what, sizeof(what), "%llu keys, with and without ages", (unsigned long long)s->n);
	claim(wrong, name, what);
}

/* Numbers of keys around those of warps and blocks, from unaligned addresses. */
static void claim_tails(const struct filter *s, const char *name)
{
	static const __u64 sizes[] = { 1, 2, 31, 32, 33, 63, 65, 255, 256, 257, 513, 1023, 1025 };
	const char *wrong = NULL;
	struct epf_cu_keys k;
	__u32 i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !wrong; i++) {
		k = { s->there + i, sizes[i], 0, { { 0, 0 }, 0 } };
		wrong = ask(s, &k, s->age + i, true);
	}
	claim(wrong, name, "few keys");
}

/* Keys hashed on the card. Look up the digests that the core computes; the bytes of
 * digests serve as keys.
 */
static const char *hashed(struct filter *s, __u32 len, __u64 strict)
{
	struct filter h = *s;
	struct epf_hash hash = { { 7, 11 }, strict, { 0 } };
	const unsigned char *bytes = (const unsigned char *)s->digest;
	struct epf_cu_keys k = { s->there, s->n / len / 4, len, hash };
	const char *wrong;
	__u64 i;

	h.digest = (__u64 *)host_memory(k.n * sizeof(*h.digest));
	h.age = (__u8 *)host_memory(k.n);
	for (i = 0; i < k.n; i++)
		h.digest[i] = epf_digest(&hash, bytes + i * len, len);
	core_answer(&h, k.n);
	wrong = ask(s, &k, h.age, true);
	free(h.digest);
	free(h.age);
	return wrong;
}

static void claim_keys(struct filter *s, const char *name)
{
	static const __u32 lens[] = { 1, 4, 8, 13, 16, 37 };
	const char *wrong = NULL;
	__u32 i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]) && !wrong; i++)
		wrong = hashed(s, lens[i], i & 1);
	claim(wrong, name, "keys hashed on the card");
}

/* ---- counts ---- */

static bool same_tally(const struct filter *s)
{
	size_t bytes = EPF_CU_TALLY * sizeof(unsigned long long);
	unsigned long long *nr = (unsigned long long *)host_memory(bytes);
	unsigned long long *on_card, *got;
	__u64 i, v, part;
	__u32 l, set;
	bool same;

	got = (unsigned long long *)host_memory(bytes);
	memset(nr, 0, bytes);
	on_card = (unsigned long long *)copied(nr, bytes);
	must(epf_cu_tally(&s->card, on_card, NULL));
	must(cudaDeviceSynchronize());
	to_host(got, on_card, bytes);
	for (i = 0; i < epf_geom_lines(&s->f.geom); i++)
		for (l = 0; l < EPF_LANES; l++) {
			v = s->f.line[i].lane[l];
			part = i / s->f.geom.part_lines;
			set = epf_popcount(v & ~EPF_TAG_MASK);
			if ((v & EPF_TAG_MASK) != epf_lane_tag(s->epoch, l))
				set = 0;
			nr[(part * EPF_LANES + l) * (EPF_LANE_BITS + 1) + set]++;
		}
	same = !memcmp(nr, got, bytes);
	cudaFree(on_card);
	free(nr);
	free(got);
	return same;
}

static bool same_probe(struct filter *s)
{
	unsigned long long zero = 0, got, want = 0;
	unsigned long long *on_card = (unsigned long long *)copied(&zero, sizeof(zero));
	struct filter h = *s;
	__u64 i;

	h.n = s->n / 4;
	h.digest = (__u64 *)host_memory(h.n * sizeof(*h.digest));
	h.age = (__u8 *)host_memory(h.n);
	for (i = 0; i < h.n; i++)
		h.digest[i] = key(SEED_ABSENT + s->n, i);
	core_answer(&h, h.n);
	for (i = 0; i < h.n; i++)
		want += h.age[i] != EPF_AGE_ABSENT;
	must(epf_cu_probe(&s->card, SEED_ABSENT + s->n, h.n, on_card, NULL));
	must(cudaDeviceSynchronize());
	to_host(&got, on_card, sizeof(got));
	cudaFree(on_card);
	free(h.digest);
	free(h.age);
	return got == want;
}

/* ---- any words ---- */

static void noise(void *self, __u64 first, __u64 n)
{
	struct filter *s = (struct filter *)self;
	__u64 *word = s->f.line->lane, i;

	for (i = first; i < first + n; i++)
		word[i] = (epf_word(i, 1) & ~EPF_TAG_MASK) | (epf_word(i, 2) & ~EPF_TAG_MASK) |
			  (epf_word(i, 3) & EPF_TAG_MASK);
}

/* Lanes with arbitrary tags: stale ones do not count, and are emptied. */
static const char *any_words(struct filter *s)
{
	struct epf_cu_keys k = { s->there, s->n / 4, 0, { { 0, 0 }, 0 } };
	const char *wrong;

	s->epoch = s->card.epoch = 43;
	in_parallel(noise, s, epf_geom_lines(&s->f.geom) * EPF_LANES);
	to_card(s->card.line, s->f.line, bytes_of(s));
	core_answer(s, k.n);
	wrong = ask(s, &k, s->age, true);
	must(epf_cu_settle(&s->card, NULL));
	must(cudaDeviceSynchronize());
	if (!wrong && !equal_lines(s, s->card.line))
		wrong = "other lines when settled";
	return wrong;
}

static void claim_shape(unsigned int shape, __u64 n)
{
	struct filter s;
	char name[16];

	snprintf(name, sizeof(name), "L=%u k=%u", shapes[shape].parts, shapes[shape].k);
	make(&s, shape, n);
	claim_lines(&s, name);
	ask_core(&s);
	claim_queries(&s, name);
	claim_tails(&s, name);
	claim_keys(&s, name);
	tap_ok(same_tally(&s), "%s: positions set are counted", name);
	tap_ok(same_probe(&s), "%s: keys made on the card", name);
	claim(any_words(&s), name, "any words, with any tags");
	cudaFree(s.card.line);
	cudaFree(s.there);
	free(s.f.line);
	free(s.digest);
	free(s.age);
}

int main(int argc, char **argv)
{
	__u64 n = argc > 1 ? strtoull(argv[1], NULL, 10) : KEYS;
	unsigned int i;

	if (no_card())
		return TAP_SKIPPED;
	if (n < 10000) /* enough keys for the smallest lines, and for the tails */
		n = 10000;
	tap_plan(CLAIMS * SHAPES);
	for (i = 0; i < SHAPES; i++)
		claim_shape(i, n);
	return tap_end();
}
