// SPDX-License-Identifier: GPL-2.0
/*
 * core_bench: the lanes filter against a straightforward guarded-epoch filter
 * of equal bytes, on ready digests, one thread. Reports; asserts nothing.
 *
 * The peer is Algorithm 1 of Alpay and Sarioglu (2026): r+1 bit segments one
 * after another, k positions by double hashing (Kirsch and Mitzenmacher 2006),
 * a query probes the segments in turn, each until its first zero bit. r = 8
 * and k = 9 are the paper's best at 14 bits per live key. A position is the
 * hash modulo the segment, as the paper has it; built with CLASSIC_SHIFT it is
 * found by multiply-shift instead, which is the better the more of the filter
 * is in the cache.
 *
 * Both are filled to their working load (14 bits per key of the window, all
 * epochs full) and asked for keys never inserted, keys of random age, and to
 * insert new keys. Runs alternate; the median of the runs is reported.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <epf/window.h>

#define BITS_PER_KEY 14
#define RUNS 7
#define OPS (1u << 21)
#define BATCH 32

static const struct epf_hash hash = { { 0x1234567, 0x89abcdef }, 0 };

/* -------------------------------------------------- classic filter ---- */

#define CLASSIC_R 8
#define CLASSIC_K 9

struct classic {
	uint8_t *bits;
	uint64_t seg_bits;
	unsigned int cur;
};

static uint64_t classic_pos(const struct classic *c, uint64_t d, unsigned int i)
{
	uint64_t h1 = d;
	uint64_t h2 = epf_word(d, 1) | 1;

#ifdef CLASSIC_SHIFT
	return epf_mulhi(h1 + i * h2, c->seg_bits);
#else
	return (h1 + i * h2) % c->seg_bits;
#endif
}

static bool seg_has(const struct classic *c, unsigned int s, uint64_t d)
{
	for (unsigned int i = 0; i < CLASSIC_K; i++) {
		uint64_t b = s * c->seg_bits + classic_pos(c, d, i);

		if (!(c->bits[b >> 3] >> (b & 7) & 1))
			return false;
	}
	return true;
}

static bool classic_test(const struct classic *c, uint64_t d)
{
	for (unsigned int s = 0; s <= CLASSIC_R; s++)
		if (seg_has(c, s, d))
			return true;
	return false;
}

static void classic_insert(struct classic *c, uint64_t d)
{
	for (unsigned int i = 0; i < CLASSIC_K; i++) {
		uint64_t b = c->cur * c->seg_bits + classic_pos(c, d, i);

		c->bits[b >> 3] |= (uint8_t)(1u << (b & 7));
	}
}

/* --------------------------------------------------------- timing ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *alloc(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "error: no memory for %zu bytes\n", n);
		exit(2);
	}
	madvise(p, n, MADV_HUGEPAGE);
	return p;
}

struct bench {
	struct epf_lanes lanes;
	struct epf_state state;
	struct classic classic;
	uint64_t window;
	uint64_t next; /* key to insert next */
};

static uint64_t digest(uint64_t key)
{
	return epf_digest(&hash, &key, sizeof(key));
}

static void insert_lanes(struct bench *b, uint64_t d)
{
	struct epf_probe p;

	epf_probe(&b->lanes, d, &p);
	epf_insert(&b->lanes, &p);
}

static void fill(struct bench *b)
{
	for (unsigned int e = 0; e < EPF_LANES; e++) {
		for (uint64_t i = 0; i < b->window / EPF_LIVE_EPOCHS; i++)
			insert_lanes(b, digest(b->next++));
		if (e + 1 < EPF_LANES)
			epf_rotate(&b->state, 0);
	}
	b->next = 0;
	for (unsigned int s = 0; s <= CLASSIC_R; s++) {
		b->classic.cur = s;
		for (uint64_t i = 0; i < b->window / CLASSIC_R; i++)
			classic_insert(&b->classic, digest(b->next++));
	}
}

static void setup(struct bench *b, size_t bytes)
{
	uint64_t nr_lines = bytes / EPF_LINE_BYTES;

	memset(b, 0, sizeof(*b));
	b->window = bytes * 8 / BITS_PER_KEY;
	b->lanes.line = alloc(bytes);
	b->lanes.epoch = &b->state.epoch;
	epf_geom_init(&b->lanes.geom, nr_lines, 1, 5);
	epf_state_init(&b->state, 0);
	b->classic.bits = alloc(bytes + 64);
	b->classic.seg_bits = bytes * 8 / (CLASSIC_R + 1);
	fill(b);
}

/* ------------------------------------------------------ measurements ---- */

static volatile uint64_t sink;

/* Each measurement is compiled for its batch. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* As the module does: told that L is 1, the compiler unrolls the parts. */
static inline struct epf_lanes one_line(const struct bench *b)
{
	struct epf_lanes f = b->lanes;

	f.geom.parts = 1;
	return f;
}

ALWAYS_INLINE double lanes_test(struct bench *b, const uint64_t *d,
				unsigned int batch)
{
	double t = now();
	uint64_t hits = 0;
	struct epf_lanes f = one_line(b);
	struct epf_probe p[BATCH];

	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; j < batch; j++)
			epf_probe(&f, d[i + j], &p[j]);
		for (unsigned int j = 0; j < batch; j++)
			hits += epf_test(&f, &p[j]) > 0;
	}
	sink = hits;
	return (now() - t) / OPS * 1e9;
}

ALWAYS_INLINE double lanes_insert(struct bench *b, const uint64_t *d,
			   unsigned int batch)
{
	double t = now();
	struct epf_lanes f = one_line(b);
	struct epf_probe p[BATCH];

	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; j < batch; j++)
			epf_probe(&f, d[i + j], &p[j]);
		for (unsigned int j = 0; j < batch; j++)
			epf_insert(&f, &p[j]);
	}
	return (now() - t) / OPS * 1e9;
}

static void classic_prefetch(const struct classic *c, uint64_t d,
			     unsigned int s)
{
	uint64_t b = s * c->seg_bits + classic_pos(c, d, 0);

	epf_prefetch(c->bits + (b >> 3));
}

ALWAYS_INLINE double peer_test(struct bench *b, const uint64_t *d,
				unsigned int batch)
{
	double t = now();
	uint64_t hits = 0;

	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; batch > 1 && j < batch; j++)
			for (unsigned int s = 0; s <= CLASSIC_R; s++)
				classic_prefetch(&b->classic, d[i + j], s);
		for (unsigned int j = 0; j < batch; j++)
			hits += classic_test(&b->classic, d[i + j]);
	}
	sink = hits;
	return (now() - t) / OPS * 1e9;
}

ALWAYS_INLINE double peer_insert(struct bench *b, const uint64_t *d,
			  unsigned int batch)
{
	double t = now();

	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; batch > 1 && j < batch; j++)
			classic_prefetch(&b->classic, d[i + j], b->classic.cur);
		for (unsigned int j = 0; j < batch; j++)
			classic_insert(&b->classic, d[i + j]);
	}
	return (now() - t) / OPS * 1e9;
}

/* Each with and without batches, as constants. */
#define BOTH(name)                                                      \
	static double name##_one(struct bench *b, const uint64_t *d)    \
	{                                                               \
		return name(b, d, 1);                                   \
	}                                                               \
	static double name##_batch(struct bench *b, const uint64_t *d)  \
	{                                                               \
		return name(b, d, BATCH);                               \
	}
BOTH(lanes_test)
BOTH(lanes_insert)
BOTH(peer_test)
BOTH(peer_insert)

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

typedef double (*measure_fn)(struct bench *, const uint64_t *);

static void compare(struct bench *b, const char *what, const uint64_t *d,
		    measure_fn ours, measure_fn peer)
{
	double o[RUNS], p[RUNS], ratio[RUNS];

	for (int r = 0; r < RUNS; r++) {
		o[r] = ours(b, d);
		p[r] = peer(b, d);
		ratio[r] = p[r] / o[r];
	}
	qsort(o, RUNS, sizeof(*o), by_value);
	qsort(p, RUNS, sizeof(*p), by_value);
	qsort(ratio, RUNS, sizeof(*ratio), by_value);
	printf("%-21s lanes %7.1f ns  classic %7.1f ns  ratio %5.1f (%.1f..%.1f)\n",
	       what, o[RUNS / 2], p[RUNS / 2], ratio[RUNS / 2], ratio[0], ratio[RUNS - 1]);
}

static uint64_t *digests(uint64_t first, uint64_t span)
{
	uint64_t *d = alloc(OPS * sizeof(*d));

	for (uint64_t i = 0; i < OPS; i++)
		d[i] = digest(first + epf_mulhi(epf_word(i + 1, 1), span));
	return d;
}

static void run(size_t mib)
{
	struct bench b;
	uint64_t *fresh, *known;

	setup(&b, mib << 20);
	fresh = digests(1ULL << 40, 1ULL << 32);
	known = digests(0, b.window);
	printf("%zu MiB, window %" PRIu64 " keys at %d bits, median of %d runs of %u\n",
	       mib, b.window, BITS_PER_KEY, RUNS, OPS);
	compare(&b, "test new   unbatched", fresh, lanes_test_one, peer_test_one);
	compare(&b, "test new   batched", fresh, lanes_test_batch,
		peer_test_batch);
	compare(&b, "test known unbatched", known, lanes_test_one, peer_test_one);
	compare(&b, "test known batched", known, lanes_test_batch,
		peer_test_batch);
	/* last, as these overfill the current epoch, with the fresh keys */
	compare(&b, "insert     unbatched", fresh, lanes_insert_one,
		peer_insert_one);
	compare(&b, "insert     batched", fresh, lanes_insert_batch,
		peer_insert_batch);
	munmap(fresh, OPS * sizeof(*fresh));
	munmap(known, OPS * sizeof(*known));
	munmap(b.lanes.line, mib << 20);
	munmap(b.classic.bits, (mib << 20) + 64);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			run(strtoul(argv[i], NULL, 10));
		return 0;
	}
	run(1);
	run(512);
	return 0;
}
