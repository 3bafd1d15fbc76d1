// SPDX-License-Identifier: GPL-2.0
/*
 * core_bench: plans of the lanes filter against a straightforward guarded-epoch
 * filter, on ready digests, with one thread. A report; it asserts nothing. One
 * plan has as many bytes as the peer and one line per key; the others have the
 * least memory for at most the peer's error, with one, two and four lines per
 * key. Memory and error of both sides are printed; the errors are counted.
 *
 * The peer is Algorithm 1 of Alpay and Sarioglu (2026): r+1 bit segments one
 * after another, k positions by double hashing (Kirsch and Mitzenmacher 2006).
 * A lookup probes the segments in turn, each until its first zero bit. r = 8
 * and k = 9 are the paper's best at 14 bits per live key. At 27 bits, for an
 * error of some 1e-4, k is 17 by the same rule (24 ln 2: a segment has 24 bits
 * per key). A position is the hash modulo the segment, as in the paper. Built
 * with CLASSIC_SHIFT it is found by multiply-shift instead, which is better the
 * more of the filter is in the cache.
 *
 * All filters are filled with the same keys (so many bits of the peer for each
 * key of the window, all epochs full). Lookups are for keys never inserted and
 * for keys of random age; insertions are of new keys. Runs alternate; the
 * report has the median of the runs, in CPU time of the thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <epf.h>
#include <epf/window.h>

#include "../clock.h"
#include "../median.h"

#define RUNS 7
#define OPS (1u << 21)
#define BATCH 32
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct epf_hash hash = { { 0x1234567, 0x89abcdef }, 0, { 0 } };

/* -------------------------------------------------- classic filter ---- */

#define CLASSIC_R 8

struct classic {
	uint8_t *bits;
	uint64_t seg_bits;
	unsigned int k;
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
	for (unsigned int i = 0; i < c->k; i++) {
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
	for (unsigned int i = 0; i < c->k; i++) {
		uint64_t b = c->cur * c->seg_bits + classic_pos(c, d, i);

		c->bits[b >> 3] |= (uint8_t)(1u << (b & 7));
	}
}

/* --------------------------------------------------------- timing ---- */

static void *alloc(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "error: no memory for %zu bytes\n", n);
		exit(2);
	}
	madvise(p, n, MADV_HUGEPAGE);
	return p;
}

/**
 * struct plan - a filter of lanes under test
 * @size: its shape
 * @label: the property that it shares with the peer
 */
struct plan {
	struct epf_size size;
	const char *label;
	struct epf_lanes lanes;
	struct epf_state state;
};

#define PLANS 4
struct bench {
	struct plan plan[PLANS];
	struct classic classic;
	size_t bytes; /* memory of the peer */
	double error; /* error of the peer, counted */
	uint64_t window;
	uint64_t *fresh, *known;
};

static uint64_t digest(uint64_t key)
{
	return epf_digest(&hash, &key, sizeof(key));
}

static void insert_lanes(struct plan *p, uint64_t d)
{
	struct epf_probe probe;

	epf_probe(&p->lanes, d, &probe);
	epf_lanes_insert(&p->lanes, &probe);
}

static void fill_lanes(struct plan *p, uint64_t window)
{
	uint64_t next = 0;

	for (unsigned int e = 0; e < EPF_LANES; e++) {
		for (uint64_t i = 0; i < window / EPF_LIVE_EPOCHS; i++)
			insert_lanes(p, digest(next++));
		if (e + 1 < EPF_LANES)
			epf_state_rotate(&p->state, 0);
	}
}

static void fill_classic(struct classic *c, uint64_t window)
{
	uint64_t next = 0;

	for (unsigned int s = 0; s <= CLASSIC_R; s++) {
		c->cur = s;
		for (uint64_t i = 0; i < window / CLASSIC_R; i++)
			classic_insert(c, digest(next++));
	}
}

static uint64_t *digests(uint64_t first, uint64_t span)
{
	uint64_t *d = alloc(OPS * sizeof(*d));

	for (uint64_t i = 0; i < OPS; i++)
		d[i] = digest(first + epf_mulhi(epf_word(i + 1, 1), span));
	return d;
}

static double classic_error(const struct bench *b)
{
	uint64_t hits = 0;

	for (unsigned int i = 0; i < OPS; i++)
		hits += classic_test(&b->classic, b->fresh[i]);
	return (double)hits / OPS;
}

static size_t lanes_bytes(const struct plan *p)
{
	return p->size.nr_lines * EPF_LINE_BYTES;
}

static void setup_plan(struct plan *p, uint64_t window)
{
	p->lanes.line = alloc(lanes_bytes(p));
	p->lanes.epoch = &p->state.epoch;
	if (epf_geom_init(&p->lanes.geom, p->size.nr_lines, p->size.lines_per_key,
			  p->size.bits_per_key)) {
		fprintf(stderr, "error: no such shape\n");
		exit(2);
	}
	epf_state_init(&p->state, 0);
	fill_lanes(p, window);
}

static void setup_classic(struct bench *b, unsigned int bits_per_key)
{
	b->window = b->bytes * 8 / bits_per_key;
	b->classic.bits = alloc(b->bytes + 64);
	b->classic.seg_bits = b->bytes * 8 / (CLASSIC_R + 1);
	b->classic.k = bits_per_key == 14 ? 9 : 17;
	fill_classic(&b->classic, b->window);
	b->fresh = digests(1ULL << 40, 1ULL << 32);
	b->known = digests(0, b->window);
	b->error = classic_error(b);
}

static void setup(struct bench *b, size_t bytes, unsigned int bits_per_key)
{
	static const unsigned int lines[PLANS] = { 1, 1, 2, 4 };

	memset(b, 0, sizeof(*b));
	b->bytes = bytes;
	setup_classic(b, bits_per_key);
	for (int i = 0; i < PLANS; i++) {
		struct plan *p = &b->plan[i];
		struct epf_size_req req = { (double)b->window, b->error, 0, lines[i] };

		p->label = i ? "equal error" : "equal bytes";
		p->size = (struct epf_size){ bytes / EPF_LINE_BYTES, 1, 5, 0 };
		if (i && epf_size(&req, &p->size)) {
			fprintf(stderr, "error: no plan of that error\n");
			exit(2);
		}
		setup_plan(p, b->window);
	}
}

/* ------------------------------------------------------ measurements ---- */

static volatile uint64_t sink;

/* Each measurement is compiled for its batch. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* As in the module, constant L makes the compiler unroll the parts. */
ALWAYS_INLINE double lanes_test(const struct plan *plan, const uint64_t *d, unsigned int batch,
				unsigned int parts)
{
	double t = cpu_s();
	uint64_t hits = 0;
	struct epf_lanes f = plan->lanes;
	struct epf_probe p[BATCH];

	f.geom.parts = parts;
	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; j < batch; j++)
			epf_probe(&f, d[i + j], &p[j]);
		for (unsigned int j = 0; j < batch; j++)
			hits += epf_lanes_test(&f, &p[j]) > 0;
	}
	sink = hits;
	return (cpu_s() - t) / OPS * 1e9;
}

ALWAYS_INLINE double lanes_insert(const struct plan *plan, const uint64_t *d, unsigned int batch,
				  unsigned int parts)
{
	double t = cpu_s();
	struct epf_lanes f = plan->lanes;
	struct epf_probe p[BATCH];

	f.geom.parts = parts;
	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; j < batch; j++)
			epf_probe(&f, d[i + j], &p[j]);
		for (unsigned int j = 0; j < batch; j++)
			epf_lanes_insert(&f, &p[j]);
	}
	return (cpu_s() - t) / OPS * 1e9;
}

static void classic_prefetch(const struct classic *c, uint64_t d, unsigned int s)
{
	uint64_t b = s * c->seg_bits + classic_pos(c, d, 0);

	epf_prefetch(c->bits + (b >> 3));
}

ALWAYS_INLINE double peer_test(struct classic *c, const uint64_t *d, unsigned int batch)
{
	double t = cpu_s();
	uint64_t hits = 0;

	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; batch > 1 && j < batch; j++)
			for (unsigned int s = 0; s <= CLASSIC_R; s++)
				classic_prefetch(c, d[i + j], s);
		for (unsigned int j = 0; j < batch; j++)
			hits += classic_test(c, d[i + j]);
	}
	sink = hits;
	return (cpu_s() - t) / OPS * 1e9;
}

ALWAYS_INLINE double peer_insert(struct classic *c, const uint64_t *d, unsigned int batch)
{
	double t = cpu_s();

	for (unsigned int i = 0; i < OPS; i += batch) {
		for (unsigned int j = 0; batch > 1 && j < batch; j++)
			classic_prefetch(c, d[i + j], c->cur);
		for (unsigned int j = 0; j < batch; j++)
			classic_insert(c, d[i + j]);
	}
	return (cpu_s() - t) / OPS * 1e9;
}

/* Each with and without batches and for each L, as constants. */
#define BATCHES(name, type, suffix, ...)                               \
	static double name##_one##suffix(type *f, const uint64_t *d)   \
	{                                                              \
		return name(f, d, 1, ##__VA_ARGS__);                   \
	}                                                              \
	static double name##_batch##suffix(type *f, const uint64_t *d) \
	{                                                              \
		return name(f, d, BATCH, ##__VA_ARGS__);               \
	}
BATCHES(lanes_test, const struct plan, _1, 1)
BATCHES(lanes_test, const struct plan, _2, 2)
BATCHES(lanes_test, const struct plan, _4, 4)
BATCHES(lanes_insert, const struct plan, _1, 1)
BATCHES(lanes_insert, const struct plan, _2, 2)
BATCHES(lanes_insert, const struct plan, _4, 4)
BATCHES(peer_test, struct classic, )
BATCHES(peer_insert, struct classic, )

typedef double (*lanes_fn)(const struct plan *, const uint64_t *);
typedef double (*peer_fn)(struct classic *, const uint64_t *);

/* Index: L / 2. */
#define OF_EACH_L(name)                      \
	{                                    \
		name##_1, name##_2, name##_4 \
	}

struct operation {
	const char *name;
	lanes_fn ours[3];
	peer_fn peer;
	bool known; /* keys of the window; else new keys */
};

static const struct operation tests[] = {
	{ "test new   unbatched", OF_EACH_L(lanes_test_one), peer_test_one, false },
	{ "test new   batched", OF_EACH_L(lanes_test_batch), peer_test_batch, false },
	{ "test known unbatched", OF_EACH_L(lanes_test_one), peer_test_one, true },
	{ "test known batched", OF_EACH_L(lanes_test_batch), peer_test_batch, true },
}, inserts[] = {
	{ "insert     unbatched", OF_EACH_L(lanes_insert_one), peer_insert_one,
	  false },
	{ "insert     batched", OF_EACH_L(lanes_insert_batch), peer_insert_batch,
	  false },
};

static void compare(struct bench *b, const struct plan *plan, const struct operation *op)
{
	const uint64_t *d = op->known ? b->known : b->fresh;
	lanes_fn ours = op->ours[plan->size.lines_per_key / 2];
	double o[RUNS], p[RUNS], ratio[RUNS];

	for (int r = 0; r < RUNS; r++) {
		o[r] = ours(plan, d);
		p[r] = op->peer(&b->classic, d);
		ratio[r] = p[r] / o[r];
	}
	median(o, RUNS);
	median(p, RUNS);
	median(ratio, RUNS);
	printf("%-21s lanes %7.1f ns  classic %7.1f ns  ratio %5.1f (%.1f..%.1f)\n", op->name,
	       o[RUNS / 2], p[RUNS / 2], ratio[RUNS / 2], ratio[0], ratio[RUNS - 1]);
}

static double lanes_error(const struct plan *p, const uint64_t *fresh)
{
	uint64_t hits = 0;
	struct epf_probe probe;

	for (unsigned int i = 0; i < OPS; i++) {
		epf_probe(&p->lanes, fresh[i], &probe);
		hits += epf_lanes_test(&p->lanes, &probe) > 0;
	}
	return (double)hits / OPS;
}

static void title(const struct bench *b, const struct plan *p)
{
	printf("plan %s, L=%u, k=%u: %.2f MiB, error %.6f; classic %.2f MiB, error %.6f\n",
	       p->label, p->size.lines_per_key, p->size.bits_per_key,
	       (double)lanes_bytes(p) / (1 << 20), lanes_error(p, b->fresh),
	       (double)b->bytes / (1 << 20), b->error);
}

static void run(size_t mib, unsigned int bits_per_key)
{
	struct bench b;

	setup(&b, mib << 20, bits_per_key);
	printf("%zu MiB, window %" PRIu64 " keys at %u bits, median of %d runs of %u\n", mib,
	       b.window, bits_per_key, RUNS, OPS);
	for (int i = 0; i < PLANS; i++) {
		title(&b, &b.plan[i]);
		for (size_t j = 0; j < ARRAY_LEN(tests); j++)
			compare(&b, &b.plan[i], &tests[j]);
	}
	/* last, because insertions of new keys overfill the current epoch */
	for (int i = 0; i < PLANS; i++) {
		printf("plan %s, L=%u\n", b.plan[i].label, b.plan[i].size.lines_per_key);
		for (size_t j = 0; j < ARRAY_LEN(inserts); j++)
			compare(&b, &b.plan[i], &inserts[j]);
		munmap(b.plan[i].lanes.line, lanes_bytes(&b.plan[i]));
	}
	munmap(b.fresh, OPS * sizeof(*b.fresh));
	munmap(b.known, OPS * sizeof(*b.known));
	munmap(b.classic.bits, b.bytes + 64);
}

int main(void)
{
	static const unsigned int sizes[] = { 1, 512 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		run(sizes[i], 14);
		run(sizes[i], 27);
	}
	return 0;
}
