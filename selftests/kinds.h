/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All kinds behind one interface, for one thread. libepf sizes them and the
 * unchanged core runs them. Section "frontier" of selftests/paper measures
 * them, and the benchmark of all kinds times them.
 *
 * The inline functions kind_NAME_insert(), _test() and _rotate() call the core
 * directly; callers that need not be fast use the table of struct kind_ops.
 * kind_NAME_aim() and _aim_insert() prefetch what a test or an insertion will
 * read; the core's own functions compute the places.
 */
#ifndef SELFTESTS_KINDS_H
#define SELFTESTS_KINDS_H

#define EPF_PRIVATE
#include <epf/window.h>

#include <kinds/apbbf.h>
#include <kinds/apbf.h>
#include <kinds/cbf.h>
#include <kinds/dict.h>
#include <kinds/elastic.h>
#include <kinds/ge.h>
#include <kinds/gebl.h>
#include <kinds/sbf.h>
#include <kinds/tlbf.h>

/* The kinds, in the order of the tables. ge_paper has the paper's layout, ge
 * the transposed one.
 */
#define KINDS(X)  \
	X(lanes1) \
	X(lanes2) \
	X(lanes4) \
	X(elastic) X(dict) X(ge) X(ge_paper) X(gebl) X(apbf) X(apbbf) X(tlbf) X(cbf) X(sbf)

#define KIND_NR(name) KIND_##name,
enum kind_nr { KINDS(KIND_NR) KIND_COUNT };
#undef KIND_NR

struct kind_ops;

/**
 * struct kind - a filter
 * @ops: functions of its kind
 * @word: memory; NULL while it is not open, and for kinds that allocate themselves
 * @bytes: total memory, without the queue of cbf
 * @window: window W, in insertions
 * @epochs: epochs (generations) in the window; 0: the kind has none
 * @epoch_keys: insertions after which the caller rotates
 * @fpr: predicted false-positive rate at the worst phase
 * @now_ns: the clock of tlbf, KIND_STEP_NS per insertion
 * @state: state of lanes
 */
struct kind {
	const struct kind_ops *ops;
	__u64 *word;
	__u64 bytes;
	__u64 window;
	__u32 epochs;
	__u64 epoch_keys;
	double fpr;
	__u64 now_ns;
	struct epf_state state;
	union {
		struct {
			struct epf_lanes f;
			__u32 bits;
		} lanes;
		struct epf_elastic elastic;
		struct epf_dict dict;
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_apbf apbf;
		struct epf_apbbf apbbf;
		struct epf_tlbf_owner tlbf;
		struct epf_cbf cbf;
		struct epf_sbf sbf;
	};
};

#define KIND_STEP_NS 1000u

/**
 * struct kind_ops - a kind
 * @name: its name in tables
 * @size: set shape, bytes, epochs and prediction for a window, a budget and a
 *	slack; returns 0 or a negative errno
 * @open: allocate an empty filter; returns false if there is no memory
 * @close: free its memory
 * @grow: grow memory and shape; see kind_grow()
 */
struct kind_ops {
	const char *name;
	int (*size)(struct kind *k, double window, double budget, double slack);
	bool (*open)(struct kind *k);
	void (*close)(struct kind *k);
	bool (*grow)(struct kind *k, __u64 times);
	void (*insert)(struct kind *k, __u64 digest);
	int (*test)(const struct kind *k, __u64 digest);
	void (*rotate)(struct kind *k);
};

extern const struct kind_ops kind_ops[KIND_COUNT];

/* Size a filter of kind @nr. Return: 0 or a negative errno. */
int kind_size(struct kind *k, enum kind_nr nr, double window, double budget, double slack);

/**
 * kind_fit() - find the shape with the least error in given memory
 * @k: result, not open
 * @nr: kind
 * @window: W
 * @bits: bits per key of the window
 * @slack: upper limit of the slack
 *
 * The result has at most that memory, and at most half a percent less unless
 * neighbouring shapes are far apart, as they may be for tlbf.
 *
 * Return: 0, or a negative errno.
 */
int kind_fit(struct kind *k, enum kind_nr nr, double window, double bits, double slack);

bool kind_open(struct kind *k);
void kind_close(struct kind *k);

/**
 * kind_fill() - insert keys until all epochs are full
 * @k: open, empty
 * @windows: number of windows to fill; the current epoch is filled too
 *
 * Keys are kind_key(0), kind_key(1), .. and distinct.
 *
 * Return: number of keys.
 */
__u64 kind_fill(struct kind *k, unsigned int windows);

/**
 * kind_grow() - make a filter @times as large, as if it had been filled
 * @to: result, open
 * @from: filled filter, unchanged
 * @times: a multiple of 8
 *
 * The result repeats each line, cell or bit @times times in a row. Positions are
 * fractions of the memory, so @to has the keys of @from, and the share of set bits and
 * the error are the same. This takes a second where filling would take minutes. In dict
 * the keys change, see kind_grown_key(), and the few keys of the backyard are lost.
 *
 * Return: false if there is no memory.
 */
bool kind_grow(struct kind *to, const struct kind *from, __u64 times);

/* Return: the key of @to for a key of the filter that it was grown from. */
__u64 kind_grown_key(const struct kind *to, __u64 digest, __u64 times);

/* Return: key @i of the inserted keys. kind_other() gives key @i of the keys never
 * inserted.
 */
static inline __u64 kind_key(__u64 i)
{
	return epf_word(i, 1);
}

static inline __u64 kind_other(__u64 i)
{
	return epf_word(i, 2);
}

/* A test or an insertion under way. */
struct kind_probe {
	__u64 digest;
	struct epf_probe lanes;
};

/* With a constant L the compiler unrolls the loop over parts, as in the module. */
#define KIND_LANES(L)                                                                         \
	static inline void kind_lanes##L##_aim(const struct kind *k, __u64 digest,            \
					       struct kind_probe *p)                          \
	{                                                                                     \
		struct epf_lanes f = k->lanes.f;                                              \
                                                                                              \
		f.geom.parts = L;                                                             \
		epf_probe(&f, digest, &p->lanes);                                             \
	}                                                                                     \
	static inline void kind_lanes##L##_aim_insert(const struct kind *k, __u64 digest,     \
						      struct kind_probe *p)                   \
	{                                                                                     \
		kind_lanes##L##_aim(k, digest, p);                                            \
	}                                                                                     \
	static inline int kind_lanes##L##_test_at(const struct kind *k, struct kind_probe *p) \
	{                                                                                     \
		p->lanes.parts = L;                                                           \
		return epf_lanes_test(&k->lanes.f, &p->lanes);                                \
	}                                                                                     \
	static inline void kind_lanes##L##_insert_at(struct kind *k, struct kind_probe *p)    \
	{                                                                                     \
		p->lanes.parts = L;                                                           \
		epf_lanes_insert(&k->lanes.f, &p->lanes);                                     \
	}                                                                                     \
	static inline int kind_lanes##L##_test(const struct kind *k, __u64 digest)            \
	{                                                                                     \
		struct kind_probe p;                                                          \
                                                                                              \
		kind_lanes##L##_aim(k, digest, &p);                                           \
		return kind_lanes##L##_test_at(k, &p);                                        \
	}                                                                                     \
	static inline void kind_lanes##L##_insert(struct kind *k, __u64 digest)               \
	{                                                                                     \
		struct kind_probe p;                                                          \
                                                                                              \
		kind_lanes##L##_aim(k, digest, &p);                                           \
		kind_lanes##L##_insert_at(k, &p);                                             \
	}                                                                                     \
	static inline void kind_lanes##L##_rotate(struct kind *k)                             \
	{                                                                                     \
		kind_lanes_rotate(k);                                                         \
	}

/* Rotate, and scan one chunk as the worker would. */
static inline void kind_lanes_rotate(struct kind *k)
{
	__u64 first, end;

	epf_scan_chunk(&k->state, epf_geom_lines(&k->lanes.f.geom), &first, &end);
	epf_lanes_scan(&k->lanes.f, first, end - first);
	k->state.scanned++;
	epf_state_rotate(&k->state, 0);
}

KIND_LANES(1)
KIND_LANES(2)
KIND_LANES(4)

/* For kinds whose probe is just the digest. */
#define KIND_AT(name)                                                                       \
	static inline int kind_##name##_test_at(const struct kind *k, struct kind_probe *p) \
	{                                                                                   \
		return kind_##name##_test(k, p->digest);                                    \
	}                                                                                   \
	static inline void kind_##name##_insert_at(struct kind *k, struct kind_probe *p)    \
	{                                                                                   \
		kind_##name##_insert(k, p->digest);                                         \
	}

#define KIND_SLAB(name, core)                                                    \
	static inline int kind_##name##_test(const struct kind *k, __u64 digest) \
	{                                                                        \
		return epf_##core##_test(&k->core, digest);                      \
	}                                                                        \
	static inline void kind_##name##_insert(struct kind *k, __u64 digest)    \
	{                                                                        \
		epf_##core##_insert(&k->core, digest);                           \
	}                                                                        \
	static inline void kind_##name##_rotate(struct kind *k)                  \
	{                                                                        \
		epf_##core##_rotate(&k->core);                                   \
	}                                                                        \
	KIND_AT(name)

KIND_SLAB(elastic, elastic)
KIND_SLAB(dict, dict)
KIND_SLAB(ge, ge)
KIND_SLAB(ge_paper, ge)
KIND_SLAB(gebl, gebl)
KIND_SLAB(apbf, apbf)
KIND_SLAB(apbbf, apbbf)

static inline void kind_elastic_aim(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	struct epf_elastic_key key;

	p->digest = digest;
	epf_elastic_locate(&k->elastic, digest, &key);
	epf_prefetch(key.line);
	epf_prefetch(key.line + k->elastic.shape.line_words - 8);
}

static inline void kind_dict_aim(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	struct epf_dict_place home;

	p->digest = digest;
	epf_dict_place(&k->dict, &home, digest);
	epf_prefetch(home.bucket);
	epf_prefetch(home.bucket + 8 * (k->dict.shape.lines - 1));
}

#define kind_elastic_aim_insert kind_elastic_aim
#define kind_dict_aim_insert kind_dict_aim

/* Most tests of absent keys end within these first cells. */
#define KIND_GE_FIRST 5u

static inline void kind_ge_cells(const struct kind *k, __u64 digest, __u32 n)
{
	__u64 at = digest, step = epf_ge_step(digest), pos;
	__u32 i, bit;

	for (i = 0; i < n && i < k->ge.shape.bits; i++, at += step) {
		pos = epf_mulhi(at, k->ge.shape.segment_bits);
		epf_prefetch(epf_ge_locate(&k->ge, pos, &bit));
	}
}

static inline void kind_ge_aim(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	p->digest = digest;
	kind_ge_cells(k, digest, KIND_GE_FIRST);
}

static inline void kind_ge_aim_insert(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	p->digest = digest;
	kind_ge_cells(k, digest, EPF_GE_BITS_MAX);
}

/* Prefetch the first position in every segment. */
static inline void kind_ge_paper_aim(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	__u64 pos = epf_mulhi(digest, k->ge.shape.segment_bits);
	__u32 i;

	p->digest = digest;
	for (i = 0; i <= k->ge.shape.epochs; i++)
		epf_prefetch(k->ge.word + i * epf_ge_stride(&k->ge.shape) + (pos >> 6));
}

static inline void kind_ge_paper_aim_insert(const struct kind *k, __u64 digest,
					    struct kind_probe *p)
{
	const __u64 *segment = k->ge.word + k->ge.now * epf_ge_stride(&k->ge.shape);
	__u64 at = digest, step = epf_ge_step(digest);
	__u32 i;

	p->digest = digest;
	for (i = 0; i < k->ge.shape.bits; i++, at += step)
		epf_prefetch(segment + (epf_mulhi(at, k->ge.shape.segment_bits) >> 6));
}

static inline void kind_gebl_aim(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	__u64 words = epf_gebl_group(&k->gebl.shape), i;
	const __u64 *group = k->gebl.word + epf_mulhi(digest, k->gebl.shape.blocks) * words;

	p->digest = digest;
	for (i = 0; i < words; i += 8)
		epf_prefetch(group + i);
}

static inline void kind_gebl_aim_insert(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	const struct epf_gebl_shape *s = &k->gebl.shape;
	__u64 block = epf_mulhi(digest, s->blocks);

	p->digest = digest;
	epf_prefetch(k->gebl.word + block * epf_gebl_group(s) + k->gebl.now * epf_gebl_block(s));
}

/* Prefetch the slices that Algorithm 1 reads while it finds no hit; for an
 * insertion the k youngest ones.
 */
#define KIND_AGED_AIM(name, ring, LOOK)                                                 \
	static inline void kind_##name##_aim(const struct kind *k, __u64 digest,        \
					     struct kind_probe *p)                      \
	{                                                                               \
		int at = (int)(ring)->l;                                                \
                                                                                        \
		p->digest = digest;                                                     \
		for (; at >= 0; at -= (int)(ring)->k)                                   \
			LOOK(k, digest, (__u32)at);                                     \
	}                                                                               \
	static inline void kind_##name##_aim_insert(const struct kind *k, __u64 digest, \
						    struct kind_probe *p)               \
	{                                                                               \
		__u32 i;                                                                \
                                                                                        \
		p->digest = digest;                                                     \
		for (i = 0; i < (ring)->k; i++)                                         \
			LOOK(k, digest, i);                                             \
	}

static inline void kind_apbf_look(const struct kind *k, __u64 digest, __u32 i)
{
	__u64 mask;

	epf_prefetch(epf_apbf_locate(&k->apbf, digest, i, &mask));
}

static inline void kind_apbbf_look(const struct kind *k, __u64 digest, __u32 i)
{
	__u64 x;

	epf_prefetch(epf_apbbf_block(&k->apbbf, digest, i, &x));
}

KIND_AGED_AIM(apbf, &k->apbf.ring, kind_apbf_look)
KIND_AGED_AIM(apbbf, &k->apbbf.ring, kind_apbbf_look)

static inline int kind_tlbf_test(const struct kind *k, __u64 digest)
{
	return epf_tlbf_test(&k->tlbf.f, digest, k->now_ns);
}

static inline void kind_tlbf_insert(struct kind *k, __u64 digest)
{
	k->now_ns += KIND_STEP_NS;
	epf_tlbf_put(&k->tlbf, digest, k->now_ns);
}

static inline void kind_tlbf_rotate(struct kind *k)
{
	(void)k; /* insertions rotate by themselves */
}

KIND_AT(tlbf)

static inline void kind_tlbf_look(const struct kind *k, __u64 digest, __u32 i)
{
	__u64 mask;

	epf_prefetch(epf_tlbf_locate(&k->tlbf.f, digest, i, &mask));
}

static inline void kind_tlbf_aim(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	struct epf_seek q = epf_tlbf_seek(&k->tlbf.f, k->now_ns);

	p->digest = digest;
	for (; q.at >= 0; q.at -= q.k)
		kind_tlbf_look(k, digest, (__u32)q.at);
}

static inline void kind_tlbf_aim_insert(const struct kind *k, __u64 digest, struct kind_probe *p)
{
	__u32 i;

	p->digest = digest;
	for (i = 0; i < k->tlbf.f.shape.k; i++)
		kind_tlbf_look(k, digest, i);
}

#define KIND_BASELINE(name)                                                      \
	static inline int kind_##name##_test(const struct kind *k, __u64 digest) \
	{                                                                        \
		return epf_##name##_test(&k->name, digest);                      \
	}                                                                        \
	static inline void kind_##name##_insert(struct kind *k, __u64 digest)    \
	{                                                                        \
		epf_##name##_insert(&k->name, digest);                           \
	}                                                                        \
	static inline void kind_##name##_rotate(struct kind *k)                  \
	{                                                                        \
		(void)k;                                                         \
	}

KIND_BASELINE(cbf)
KIND_BASELINE(sbf)

#endif /* SELFTESTS_KINDS_H */
