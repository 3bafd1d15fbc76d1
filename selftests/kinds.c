// SPDX-License-Identifier: GPL-2.0
/*
 * All kinds behind one interface: sizing and memory.
 */
#include "kinds.h"

#include <epf.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIT_STEPS 11 /* to half a percent of the memory */
#define HUGE_PAGE (2u << 20)

static __u64 *memory(__u64 bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_PAGE)
		madvise(map, bytes, MADV_HUGEPAGE); /* only a hint, so it may fail */
	return map;
}

static bool slab_open(struct kind *k)
{
	k->word = memory(k->bytes);
	return k->word;
}

static void slab_close(struct kind *k)
{
	munmap(k->word, k->bytes);
}

/* Copy each of the @units at @from to @to @times times in a row. */
static void repeat(void *to, const void *from, __u64 units, unsigned int unit_bytes, __u64 times)
{
	const char *in = from;
	char *out = to;
	__u64 i, j;

	for (i = 0; i < units; i++, in += unit_bytes)
		for (j = 0; j < times; j++, out += unit_bytes)
			memcpy(out, in, unit_bytes);
}

/* The same for units of @bits bits, a power of two below 64. */
static void repeat_bits(__u8 *to, const __u8 *from, __u64 units, unsigned int bits, __u64 times)
{
	unsigned int value = (1u << bits) - 1, shift;
	__u64 bytes = times * bits / 8, i;

	for (i = 0; i < units; i++, to += bytes) {
		unsigned int v = from[i * bits / 8] >> i * bits % 8 & value;

		for (shift = bits; shift < 8; shift *= 2)
			v |= v << shift;
		memset(to, (int)v, bytes);
	}
}

/* Expand @bytes of a filter's memory to @times as much. */
static void expand(void *to, const void *from, __u64 bytes, unsigned int bits, __u64 times)
{
	if (bits >= 8)
		repeat(to, from, bytes * 8 / bits, bits / 8, times);
	else
		repeat_bits(to, from, bytes * 8 / bits, bits, times);
}

static __u64 *slab_grow(struct kind *k, unsigned int unit_bits, __u64 times)
{
	__u64 *word = memory(k->bytes * times);

	if (word)
		expand(word, k->word, k->bytes, unit_bits, times);
	k->word = word;
	k->bytes *= times;
	return word;
}

/* Set the fields that all kinds with epochs have, for the window @window. */
static void set(struct kind *k, double window, __u32 epochs, double epoch_keys, __u64 bytes,
		double fpr)
{
	k->window = (__u64)ceil(window);
	k->epochs = epochs;
	k->epoch_keys = (__u64)epoch_keys;
	k->bytes = bytes;
	k->fpr = fpr;
}

/* ------------------------------------------------------------- lanes ---- */

static int lanes_shape(struct kind *k, double window, const struct epf_size *s)
{
	k->lanes.bits = s->bits_per_key;
	set(k, window, EPF_LIVE_EPOCHS, ceil(window / EPF_LIVE_EPOCHS),
	    s->nr_lines * EPF_LINE_BYTES, s->fpr);
	return epf_geom_init(&k->lanes.f.geom, s->nr_lines, s->lines_per_key, s->bits_per_key);
}

static int lanes_size(struct kind *k, double window, double budget, double slack,
		      unsigned int lines)
{
	struct epf_size_req req = { window, budget, 0, lines };
	struct epf_size size;
	int err = epf_size(&req, &size);

	if (!err && slack > 0 && slack * EPF_LIVE_EPOCHS < 1)
		err = -ENOSPC;
	return err ? err : lanes_shape(k, window, &size);
}

#define LANES_SIZE(L)                                                                          \
	static int lanes##L##_size(struct kind *k, double window, double budget, double slack) \
	{                                                                                      \
		return lanes_size(k, window, budget, slack, L);                                \
	}
LANES_SIZE(1)
LANES_SIZE(2)
LANES_SIZE(4)

static bool lanes_open(struct kind *k)
{
	k->word = memory(k->bytes);
	k->lanes.f.line = (struct epf_line *)k->word;
	k->lanes.f.epoch = &k->state.epoch;
	epf_state_init(&k->state, 0);
	return k->word;
}

static bool lanes_grow(struct kind *k, __u64 times)
{
	k->lanes.f.line = (struct epf_line *)slab_grow(k, 8 * EPF_LINE_BYTES, times);
	k->lanes.f.geom.part_lines *= times;
	k->lanes.f.epoch = &k->state.epoch;
	return k->lanes.f.line;
}

#define lanes1_open lanes_open
#define lanes2_open lanes_open
#define lanes4_open lanes_open
#define lanes1_grow lanes_grow
#define lanes2_grow lanes_grow
#define lanes4_grow lanes_grow

/* ------------------------------------------------------ slab kinds ---- */

#define SLAB_OPEN(name)                                       \
	static bool name##_open(struct kind *k)               \
	{                                                     \
		k->name.word = slab_open(k) ? k->word : NULL; \
		return k->word;                               \
	}
SLAB_OPEN(elastic)
SLAB_OPEN(dict)
SLAB_OPEN(ge)
SLAB_OPEN(gebl)
SLAB_OPEN(apbf)
SLAB_OPEN(apbbf)

/* The functions that size slab kinds: what libepf asks for beside window, budget and slack,
 * what its function takes beside that, and epochs, keys of an epoch and bytes of its answer.
 */
#define SLAB_SIZE(name, req_of, more, arguments, epochs, keys, bytes)                      \
	static int name##_size(struct kind *k, double window, double budget, double slack) \
	{                                                                                  \
		struct epf_##req_of##_req req = { .keys_per_window = window,               \
						  .budget = budget,                        \
						  .slack = slack more };                   \
		struct epf_##name##_size z;                                                \
		int err = epf_##name##_size(&req arguments, &z);                           \
                                                                                           \
		if (err)                                                                   \
			return err;                                                        \
		set(k, window, epochs, keys, bytes, z.fpr);                                \
		return epf_##name##_init(&k->name, &z.shape);                              \
	}
#define NO_MORE
#define OFFSETS , .offsets = EPF_GEBL_DISTINCT
#define ANY_SHAPE , 0, 0
SLAB_SIZE(elastic, elastic, NO_MORE, NO_MORE, z.shape.epochs, ceil(window / z.shape.epochs),
	  z.bytes)
SLAB_SIZE(dict, dict, NO_MORE, NO_MORE, z.shape.generations, ceil(window / z.shape.generations),
	  z.bytes)
SLAB_SIZE(gebl, gebl, OFFSETS, NO_MORE, z.shape.epochs, ceil(window / z.shape.epochs), z.bytes)
SLAB_SIZE(apbf, aged, NO_MORE, NO_MORE, z.shape.l, z.generation, epf_apbf_words(&z.shape) * 8)
SLAB_SIZE(apbbf, aged, NO_MORE, ANY_SHAPE, z.shape.l, z.generation, epf_apbbf_words(&z.shape) * 8)

static bool elastic_grow(struct kind *k, __u64 times)
{
	k->elastic.word = slab_grow(k, k->elastic.shape.line_words * 64, times);
	k->elastic.shape.nr_lines *= times;
	return k->word;
}

static bool dict_grow(struct kind *k, __u64 times)
{
	k->dict.word = slab_grow(k, k->dict.shape.lines * 512, times);
	k->dict.shape.buckets *= times;
	k->dict.shape.yard *= times;
	k->dict.table[0].buckets *= times;
	k->dict.table[1].buckets *= times;
	k->dict.scan *= times;
	k->dict.visited *= times;
	return k->word;
}

/* Segments of whole words. */
static int ge_layout(struct kind *k, double window, double budget, double slack,
		     unsigned int layout)
{
	struct epf_ge_req req = {
		.keys_per_window = window, .budget = budget, .slack = slack, .layout = layout
	};
	struct epf_ge_size size;
	int err = epf_ge_size(&req, &size);
	double keys;

	if (err)
		return err;
	size.shape.segment_bits = (size.shape.segment_bits + 63) & ~63ULL;
	keys = ceil(window / size.shape.epochs);
	set(k, window, size.shape.epochs, keys, epf_ge_words(&size.shape) * 8,
	    epf_ge_fpr(&size.shape, keys, keys));
	return epf_ge_init(&k->ge, &size.shape);
}

static int ge_size(struct kind *k, double window, double budget, double slack)
{
	return ge_layout(k, window, budget, slack, EPF_GE_TRANSPOSED);
}

static int ge_paper_size(struct kind *k, double window, double budget, double slack)
{
	return ge_layout(k, window, budget, slack, EPF_GE_SEGMENTS);
}

static unsigned int ge_unit(const struct epf_ge_shape *s)
{
	return s->layout == EPF_GE_SEGMENTS ? 1 : 1u << epf_ge_cell(s);
}

static bool ge_grow(struct kind *k, __u64 times)
{
	k->ge.word = slab_grow(k, ge_unit(&k->ge.shape), times);
	k->ge.shape.segment_bits *= times;
	return k->word;
}

#define ge_paper_open ge_open
#define ge_paper_grow ge_grow

static bool gebl_grow(struct kind *k, __u64 times)
{
	__u64 bits = 64 * epf_gebl_group(&k->gebl.shape);

	k->gebl.word = slab_grow(k, (unsigned int)bits, times);
	k->gebl.shape.blocks *= times;
	return k->word;
}

static bool apbf_grow(struct kind *k, __u64 times)
{
	k->apbf.word = slab_grow(k, 1, times);
	k->apbf.shape.slice_bits *= times;
	k->apbf.slice_words *= times;
	return k->word;
}

static bool apbbf_grow(struct kind *k, __u64 times)
{
	k->apbbf.word = slab_grow(k, k->apbbf.shape.block_bits, times);
	k->apbbf.shape.nr_blocks *= times;
	k->apbbf.slice_words *= times;
	return k->word;
}

/* -------------------------------------- kinds that have their memory ---- */

/* One key every KIND_STEP_NS; the window is so long that it has W of them. */
static int tlbf_size(struct kind *k, double window, double budget, double slack)
{
	struct epf_tlbf_req req = {
		.span_ns = (__u64)ceil(window) * KIND_STEP_NS,
		.rate = 1e9 / KIND_STEP_NS,
		.budget = budget,
		.slack = slack,
	};
	struct epf_tlbf_size size;
	int err = epf_tlbf_size(&req, &size);

	if (err)
		return err;
	set(k, window, 0, 0, size.words * 8, size.fpr);
	k->tlbf.f.shape = size.shape;
	return 0;
}

static bool tlbf_open(struct kind *k)
{
	struct epf_tlbf_shape s = k->tlbf.f.shape;

	k->now_ns = 1;
	return !epf_tlbf_open(&k->tlbf, &s, 0, k->now_ns);
}

static void tlbf_close(struct kind *k)
{
	epf_tlbf_close(&k->tlbf);
}

static bool grow_slice(struct epf_tlbf_slice *s, __u64 times)
{
	__u64 bytes = s->words * sizeof(__u64);
	__u64 *word = aligned_alloc(64, (bytes * times + 63) & ~63ULL);

	if (word)
		expand(word, s->word, bytes, 1, times);
	s->word = word;
	s->words *= times;
	s->since *= times;
	s->until *= times;
	s->begin_ns *= times;
	s->last_ns *= times;
	return word;
}

/* The window grows; the rate stays the same. */
static bool tlbf_grow(struct kind *k, __u64 times)
{
	struct epf_tlbf *f = &k->tlbf.f;
	__u32 i;

	for (i = 0; i < f->nr; i++)
		if (!grow_slice(&f->slice[(f->head + i) % EPF_TLBF_SLICES], times))
			return false;
	f->shape.span_ns *= times;
	f->generation_ns *= times;
	f->now_ns *= times;
	f->last_ns *= times;
	f->taken *= times;
	f->quota = epf_tlbf_quota(f);
	k->tlbf.words *= times;
	k->now_ns *= times;
	k->bytes *= times;
	return true;
}

/* The memory of the counters alone; the queue takes another 64 bits per key. */
static int cbf_size(struct kind *k, double window, double budget, double slack)
{
	struct epf_cbf_shape s = { .bits = 1 };
	double w = ceil(window);

	s.bits += (unsigned int)(-log2(budget) - 0.5);
	s.window = (__u64)w;
	s.cells = (__u64)ceil(-(s.bits * w) / log1p(-pow(budget, 1.0 / s.bits)));
	k->cbf.shape = s;
	set(k, window, 0, 0, epf_cbf_bytes(&s), epf_cbf_fpr(&s, w));
	return 0;
}

static bool cbf_open(struct kind *k)
{
	struct epf_cbf_shape s = k->cbf.shape;

	return !epf_cbf_init(&k->cbf, &s);
}

static void cbf_close(struct kind *k)
{
	epf_cbf_free(&k->cbf);
}

static __u8 *cells_grow(const __u8 *cell, __u64 bytes, __u64 times)
{
	__u8 *more = malloc(bytes * times);

	if (more)
		expand(more, cell, bytes, 4, times);
	return more;
}

/* The queue keeps its length, because the keys that leave it are still in the
 * filter.
 */
static bool cbf_grow(struct kind *k, __u64 times)
{
	__u64 bytes = k->cbf.shape.window * sizeof(__u64);
	__u64 *queue = malloc(bytes);

	if (queue)
		memcpy(queue, k->cbf.queue, bytes);
	k->cbf.queue = queue;
	k->cbf.cell = cells_grow(k->cbf.cell, k->bytes, times);
	k->cbf.shape.cells *= times;
	k->bytes *= times;
	return queue && k->cbf.cell;
}

#define SBF_LOSES 0.1   /* at most this share of the keys is lost by the end of the window */
#define SBF_BITS_MAX 8  /* largest counter width K that is tried */
#define SBF_SCALE 10000 /* keys of the simulation; the loss depends on shares only */
#define SBF_DECREMENTS 4096

/* Return: the greatest number of decrements that loses no more than that. */
static unsigned int sbf_decrements(double cells_per_key, unsigned int bits)
{
	struct epf_sbf_shape s = { (__u64)(cells_per_key * SBF_SCALE), bits, 0, 15 };
	unsigned int low = 0, high = SBF_DECREMENTS;

	while (low < high) {
		s.decrements = (low + high + 1) / 2;
		if (epf_sbf_fnr(&s, SBF_SCALE) <= SBF_LOSES)
			low = s.decrements;
		else
			high = s.decrements - 1;
	}
	return low;
}

static void sbf_best(struct kind *k, double window, double cells_per_key)
{
	struct epf_sbf_shape s = { (__u64)ceil(window * cells_per_key), 1, 0, 15 };

	k->fpr = 1;
	for (; s.bits <= SBF_BITS_MAX; s.bits++) {
		s.decrements = sbf_decrements(cells_per_key, s.bits);
		if (!s.decrements || epf_sbf_fpr(&s) >= k->fpr)
			continue;
		k->sbf.shape = s;
		k->fpr = epf_sbf_fpr(&s);
	}
}

/* Stable Bloom filters have no window, so the one asked for stands in for it. */
static int sbf_size(struct kind *k, double window, double budget, double slack)
{
	double low = 0.5, high = 64;
	int i;

	sbf_best(k, window, high);
	if (k->fpr > budget)
		return -ENOSPC;
	for (i = 0; i < 10; i++) {
		double cells = sqrt(low * high);

		sbf_best(k, window, cells);
		if (k->fpr <= budget)
			high = cells;
		else
			low = cells;
	}
	sbf_best(k, window, high);
	set(k, window, 0, 0, epf_sbf_bytes(&k->sbf.shape), k->fpr);
	return 0;
}

static bool sbf_open(struct kind *k)
{
	struct epf_sbf_shape s = k->sbf.shape;

	return !epf_sbf_init(&k->sbf, &s);
}

static void sbf_close(struct kind *k)
{
	epf_sbf_free(&k->sbf);
}

static bool sbf_grow(struct kind *k, __u64 times)
{
	k->sbf.cell = cells_grow(k->sbf.cell, k->bytes, times);
	k->sbf.shape.cells *= times;
	k->bytes *= times;
	return k->sbf.cell;
}

/* ------------------------------------------------------- all of them ---- */

#define lanes1_close slab_close
#define lanes2_close slab_close
#define lanes4_close slab_close
#define elastic_close slab_close
#define dict_close slab_close
#define ge_close slab_close
#define ge_paper_close slab_close
#define gebl_close slab_close
#define apbf_close slab_close
#define apbbf_close slab_close

#define OPS(kind)                                                                           \
	[KIND_##kind] = {                                                                   \
		#kind,       kind##_size,          kind##_open,        kind##_close,        \
		kind##_grow, kind_##kind##_insert, kind_##kind##_test, kind_##kind##_rotate \
	},
const struct kind_ops kind_ops[KIND_COUNT] = { KINDS(OPS) };

int kind_size(struct kind *k, enum kind_nr nr, double window, double budget, double slack)
{
	memset(k, 0, sizeof(*k));
	k->ops = &kind_ops[nr];
	return k->ops->size(k, window, budget, slack);
}

/* For these kinds the error follows from the memory without a search. */
static int fit_lanes(struct kind *k, double window, double bits, unsigned int lines)
{
	struct epf_size_req req = { window, 1e-9, (__u64)(window * bits / 8), lines };
	struct epf_size size;
	int err = epf_size(&req, &size);

	return err && err != -ENOSPC ? err : lanes_shape(k, window, &size);
}

static int fit_elastic(struct kind *k, double window, double bits)
{
	struct epf_elastic_shape s = { (__u64)(window * bits / 1024), EPF_ELASTIC_WORDS_MAX,
				       EPF_ELASTIC_EPOCHS_MAX };
	double keys = ceil(window / s.epochs);

	set(k, window, s.epochs, keys, epf_elastic_words(&s) * 8, epf_elastic_fpr(&s, keys, keys));
	return epf_elastic_init(&k->elastic, &s);
}

static int fit_sbf(struct kind *k, double window, double bits)
{
	sbf_best(k, window, bits / 4);
	set(k, window, 0, 0, epf_sbf_bytes(&k->sbf.shape), k->fpr);
	return k->fpr < 1 ? 0 : -ENOSPC;
}

static int fit_cbf(struct kind *k, double window, double bits)
{
	struct epf_cbf_shape s = { (__u64)(window * bits / 4), (__u64)ceil(window), 1 };
	double least = 2;

	for (; s.bits <= 16; s.bits++) {
		if (epf_cbf_fpr(&s, window) >= least)
			continue;
		least = epf_cbf_fpr(&s, window);
		k->cbf.shape = s;
	}
	set(k, window, 0, 0, epf_cbf_bytes(&s), least);
	return 0;
}

/* The other kinds are sized for a rate that is found by bisection. */
static int fit(struct kind *k, enum kind_nr nr, double window, double bits, double slack)
{
	double low = -1, high = -30;
	int i, err;

	for (i = 0; i < FIT_STEPS; i++) {
		double budget = (low + high) / 2;

		err = kind_size(k, nr, window, exp2(budget), slack);
		if (!err && (double)k->bytes * 8 <= window * bits)
			low = budget;
		else
			high = budget;
	}
	return kind_size(k, nr, window, exp2(low), slack);
}

int kind_fit(struct kind *k, enum kind_nr nr, double window, double bits, double slack)
{
	memset(k, 0, sizeof(*k));
	k->ops = &kind_ops[nr];
	switch (nr) {
	case KIND_lanes1:
		return fit_lanes(k, window, bits, 1);
	case KIND_lanes2:
		return fit_lanes(k, window, bits, 2);
	case KIND_lanes4:
		return fit_lanes(k, window, bits, 4);
	case KIND_elastic:
		return fit_elastic(k, window, bits);
	case KIND_cbf:
		return fit_cbf(k, window, bits);
	case KIND_sbf:
		return fit_sbf(k, window, bits);
	default:
		return fit(k, nr, window, bits, slack);
	}
}

bool kind_open(struct kind *k)
{
	return k->ops->open(k);
}

void kind_close(struct kind *k)
{
	k->ops->close(k);
}

/* Would one more key end the current generation? */
static bool tlbf_full(const struct kind *k)
{
	const struct epf_tlbf *f = &k->tlbf.f;

	return epf_tlbf_generation(f) + 1 >= f->quota || epf_tlbf_due(f, k->now_ns + KIND_STEP_NS);
}

static __u64 fill_tlbf(struct kind *k, __u64 n)
{
	__u64 i;

	for (i = 0; i < n || !tlbf_full(k); i++)
		kind_tlbf_insert(k, kind_key(i));
	return i;
}

__u64 kind_fill(struct kind *k, unsigned int windows)
{
	__u64 i, n = windows * k->window;

	if (k->ops == &kind_ops[KIND_tlbf])
		return fill_tlbf(k, n);
	if (k->epochs)
		n = (windows * k->epochs + 1) * k->epoch_keys;
	for (i = 0; i < n; i++) {
		if (k->epochs && i && i % k->epoch_keys == 0)
			k->ops->rotate(k);
		k->ops->insert(k, kind_key(i));
	}
	return n;
}

bool kind_grow(struct kind *to, const struct kind *from, __u64 times)
{
	*to = *from;
	to->window *= times;
	to->epoch_keys *= times;
	return to->ops->grow(to, times);
}

/* Return: (bucket number and rest of the digest) / number of buckets, rounded
 * up.
 */
__u64 kind_grown_key(const struct kind *to, __u64 digest, __u64 times)
{
	__u64 buckets = to->dict.shape.buckets, rest, nr;
	__extension__ unsigned __int128 x;

	if (to->ops != &kind_ops[KIND_dict])
		return digest;
	nr = epf_mul(digest, buckets / times, &rest) * times;
	nr += epf_mulhi(epf_word(digest, 9), times);
	x = (__extension__(unsigned __int128) nr << 64) + rest + buckets - 1;
	return (__u64)(x / buckets);
}
