// SPDX-License-Identifier: GPL-2.0
/*
 * Property: a query gives the core's bitmap, ages and histogram, for every number of
 * keys, length, alignment and phase of rotation.
 *
 * usage: query [--few]    (--few: a tenth)
 *
 * Memory has exactly the documented size, so that the sanitizer sees an access beyond
 * it.
 */
#include "cards.h"

#define FULL 100 /* initial value of the counters */

static unsigned int every = 1; /* one of this many cases is tried */
static unsigned int nr_cases;

static const __u64 sizes[] = {
	0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 769, 1000, 1537, 2500
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/**
 * The answers of a card.
 */
struct told {
	__u32 *bitmap;
	__u8 *ages;
	unsigned long long count[EPF_LANES];
};

static bool skipped(void)
{
	return nr_cases++ % every;
}

static bool bits_behind(const __u32 *bitmap, __u64 n)
{
	return n % 32 && bitmap[n / 32] >> n % 32;
}

static const char *compare(const struct expected *x, const struct told *t)
{
	__u32 age;

	if (memcmp(x->bitmap, t->bitmap, x->n / 8) ||
	    (x->n % 8 && x->bitmap[x->n / 8] != ((unsigned char *)t->bitmap)[x->n / 8]))
		return "bitmap";
	if (bits_behind(t->bitmap, x->n))
		return "bits behind the last key";
	if (t->ages && memcmp(x->ages, t->ages, x->n))
		return "ages";
	for (age = 0; age < EPF_LANES; age++)
		if (t->count[age] != x->ages_of[age] + FULL + age)
			return "histogram";
	return NULL;
}

/* Return: NULL, or what is wrong. */
static const char *ask(const struct sim *s, const struct epf_cu_keys *k, const struct expected *x,
		       bool ages)
{
	struct epf_cu_lines f = cards_lines(s);
	__u64 words = (k->n + 31) / 32;
	struct told t = { .bitmap = must(malloc(words * 4 + !words)) };
	const char *wrong = "error";
	__u32 age;

	memset(t.bitmap, 0xa5, words * 4);
	if (ages)
		t.ages = must(malloc(k->n + !k->n));
	for (age = 0; age < EPF_LANES; age++)
		t.count[age] = FULL + age;
	if (epf_cu_query(&f, k, t.bitmap, t.ages, t.count, NULL) == cudaSuccess)
		wrong = compare(x, &t);
	free(t.bitmap);
	free(t.ages);
	return wrong;
}

static const char *ask_digests(const struct sim *s, __u64 n, bool ages)
{
	__u64 *digest = cards_digests(s, n);
	struct epf_cu_keys k = cards_keys(s, digest, n, 0);
	struct expected x;
	const char *wrong;

	expect(&x, s, digest, n);
	wrong = ask(s, &k, &x, ages);
	expect_free(&x);
	free(digest);
	return wrong;
}

/* ----------------------------------------------------------- phases ---- */

static const char *phases(unsigned int shape)
{
	const char *wrong = NULL;
	__u64 epoch;

	for (epoch = EPF_EPOCH_FIRST; epoch <= 80 && !wrong; epoch++) {
		struct sim s;

		if (skipped())
			continue;
		cards_init(&s, shape, 65);
		cards_fill(&s, epoch, (epoch + shape) % 3 == 0);
		wrong = ask_digests(&s, sizes[(epoch + 5 * shape) % SIZES], (epoch + shape) % 4);
		sim_free(&s);
	}
	return wrong;
}

static void claim_phases(__u32 parts)
{
	const char *wrong = NULL;
	unsigned int shape;

	for (shape = 0; shape < SHAPES && !wrong; shape++)
		if (shapes[shape].parts == parts)
			wrong = phases(shape);
	tap_sound(wrong, "L=%u: epochs 8 to 80", parts);
}

/* Kernels differ by L and by the number of fields per line. */
static void claim_fields(__u32 parts)
{
	const char *wrong = NULL;
	__u32 fields;

	for (fields = 1; fields <= EPF_PART_BITS_MAX && !wrong; fields++) {
		struct sim s;

		cards_shaped(&s, parts, parts * fields, 65);
		cards_fill(&s, 30 + fields, false);
		wrong = ask_digests(&s, 333, fields % 2);
		sim_free(&s);
	}
	tap_sound(wrong, "L=%u: each number of fields", parts);
}

static void claim_sizes(void)
{
	const char *wrong = NULL;
	struct sim s;
	__u64 n;

	cards_init(&s, 5, 65);
	cards_fill(&s, 43, false);
	for (n = 0; n <= 100 && !wrong; n++)
		if (!skipped())
			wrong = ask_digests(&s, n, n % 2);
	for (n = 0; n < SIZES && !wrong; n++)
		wrong = ask_digests(&s, sizes[n], true);
	sim_free(&s);
	tap_sound(wrong, "0 to 100 keys, and more than the grid");
}

/* ------------------------------------------------------------- keys ---- */

static const char *keys_of(struct sim *s, __u32 len, unsigned int off, __u64 strict)
{
	const __u64 n = 97;
	unsigned char *mem = must(malloc(n * len + off));
	struct epf_cu_keys k = cards_keys(s, mem + off, n, len);
	const char *wrong;
	struct expected x;
	__u64 digest[97];
	__u64 i;

	k.hash.kind = strict;
	for (i = 0; i < n * len; i++)
		mem[off + i] = (unsigned char)epf_word(i + len, 5);
	for (i = 0; i < n; i++) {
		digest[i] = epf_digest(&k.hash, mem + off + i * len, len);
		if (i % 2)
			sim_insert(s, digest[i]);
	}
	expect(&x, s, digest, n);
	wrong = ask(s, &k, &x, false);
	expect_free(&x);
	free(mem);
	return wrong;
}

static void claim_keys(void)
{
	static const __u32 lens[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  12, 13,
				      15, 16, 17, 24, 31, 32, 37, 64, 100, 255, 256 };
	const char *wrong = NULL;
	unsigned int l, off;
	struct sim s;

	cards_init(&s, 1, 500);
	for (l = 0; l < sizeof(lens) / sizeof(lens[0]); l++)
		for (off = 0; off < 8 && !wrong; off++)
			if (!skipped())
				wrong = keys_of(&s, lens[l], off, (l + off) / 2 % 2);
	sim_free(&s);
	tap_sound(wrong, "keys of 1 to 256 bytes, at any alignment, both hashes");
}

static void claim_alignment(void)
{
	const char *wrong = NULL;
	struct expected x;
	unsigned int off;
	struct sim s;

	cards_init(&s, 2, 65);
	cards_fill(&s, 30, false);
	for (off = 0; off < 8 && !wrong; off++) {
		__u64 *digest = cards_digests(&s, 77);
		unsigned char *mem = must(malloc(77 * 8 + off));
		struct epf_cu_keys k = cards_keys(&s, mem + off, 77, 0);

		memcpy(mem + off, digest, 77 * 8);
		expect(&x, &s, digest, 77);
		wrong = ask(&s, &k, &x, true);
		expect_free(&x);
		free(digest);
		free(mem);
	}
	sim_free(&s);
	tap_sound(wrong, "digests at any alignment");
}

/* ----------------------------------------------------------- probes ---- */

static const char *probed(unsigned int shape, __u64 epoch, __u64 seed, __u64 n)
{
	const struct epf_engine *scalar = epf_engine_find("scalar");
	const struct epf_probe_opts o = {
		.size = sizeof(o), .threads = 1, .keys = n, .seed = &seed
	};
	unsigned long long found = 5;
	struct epf_met m = { .found = 0 };
	const char *wrong = NULL;
	struct epf_cu_lines f;
	struct epf_view v;
	struct sim s;

	cards_init(&s, shape, 65);
	cards_fill(&s, epoch, epoch % 2);
	f = cards_lines(&s);
	v = sim_view(&s);
	if (epf_cu_probe(&f, seed, n, &found, NULL) || (n && epf_view_probe(&v, scalar, &o, &m)))
		wrong = "error";
	else if (found != m.found + 5)
		wrong = "another number";
	sim_free(&s);
	return wrong;
}

static void claim_probes(void)
{
	const char *wrong = NULL;
	unsigned int shape, i;

	for (shape = 0; shape < SHAPES; shape++)
		for (i = 0; i < SIZES && !wrong; i++)
			if (!skipped())
				wrong = probed(shape, 17 + shape + i, shape * SEED_NR, sizes[i]);
	tap_sound(wrong, "digests made on the way: as many found as libepf finds");
}

/* ----------------------------------------------------------- errors ---- */

struct question {
	struct epf_cu_lines f;
	struct epf_cu_keys k;
	__u32 *bitmap;
	unsigned long long *count;
};

static bool refused(struct question q)
{
	return epf_cu_query(&q.f, &q.k, q.bitmap, NULL, q.count, NULL) == cudaErrorInvalidValue;
}

#define REFUSED(field, value)           \
	({                              \
		struct question q_ = q; \
		q_.field = value;       \
		refused(q_);            \
	})

static void claim_errors(void)
{
	unsigned long long count[EPF_LANES] = { 0 }, found = 0;
	__u64 digest = 1;
	__u32 bitmap = 0xa5;
	struct question q = { .bitmap = &bitmap, .count = count };
	struct epf_cu_lines bad;
	struct sim s;

	cards_init(&s, 5, 65);
	q.f = cards_lines(&s);
	q.k = cards_keys(&s, &digest, 1, 0);
	tap_ok(REFUSED(f.line, NULL) && REFUSED(f.epoch, EPF_EPOCH_FIRST - 1) &&
		       REFUSED(f.line, (struct epf_line *)(void *)(s.mem + 8)) &&
		       REFUSED(f.geom.parts, 3) && REFUSED(f.geom.part_lines, 1ULL << 40) &&
		       REFUSED(f.geom.part_lines, 1ULL << 63) && REFUSED(f.geom.part_lines, 0),
	       "lines that cannot be: invalid value");
	tap_ok(REFUSED(k.data, NULL) && REFUSED(k.len, EPF_KEY_MAX + 1) && REFUSED(bitmap, NULL) &&
		       REFUSED(count, NULL),
	       "keys that cannot be, no bitmap, no counters: invalid value");
	bad = q.f;
	bad.line = NULL;
	tap_ok(epf_cu_probe(&bad, 1, 1, &found, NULL) == cudaErrorInvalidValue &&
		       epf_cu_probe(&q.f, 1, 1, NULL, NULL) == cudaErrorInvalidValue,
	       "a probe of no lines, without a counter: invalid value");
	tap_ok(bitmap == 0xa5 && !count[0] && !found, "and nothing is touched");
	sim_free(&s);
}

int main(int argc, char **argv)
{
	unsigned int parts;

	if (argc > 1 && !strcmp(argv[1], "--few"))
		every = 11;
	tap_plan(14);
	for (parts = 1; parts <= 4; parts *= 2)
		claim_phases(parts);
	for (parts = 1; parts <= 4; parts *= 2)
		claim_fields(parts);
	claim_sizes();
	claim_keys();
	claim_alignment();
	claim_probes();
	claim_errors();
	return tap_end();
}
