/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All kinds behind one interface: sized by libepf, run by the core as it is,
 * for one thread. What section frontier of the papers measures and what the
 * benchmark of all kinds times.
 *
 * The inline functions kind_NAME_insert(), _test() and _rotate() are those of
 * the core; the table of struct kind_ops has them for callers that need not be
 * fast. kind_NAME_aim() and _aim_insert() prefetch what a test or an insertion
 * will look at, in places that the core's own functions tell.
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

/* In the order of tables. ge_paper has the paper's layout, ge cells. */
#define KINDS(X)							\
	X(lanes1) X(lanes2) X(lanes4) X(elastic) X(dict) X(ge)		\
	X(ge_paper) X(gebl) X(apbf) X(apbbf) X(tlbf) X(cbf) X(sbf)

#define KIND_NR(name) KIND_##name,
enum kind_nr { KINDS(KIND_NR) KIND_COUNT };
#undef KIND_NR

struct kind_ops;

/**
 * struct kind - a filter
 * @ops: of its kind
 * @word: memory, NULL while it is not open and for kinds that have their own
 * @bytes: memory, all of it but for the queue of cbf
 * @window: W, insertions
 * @epochs: epochs (generations) that make the window; 0: there are none
 * @epoch_keys: insertions after which one is to be rotated
 * @fpr: predicted at the worst phase
 * @now_ns: the clock of tlbf, KIND_STEP_NS an insertion
 * @state: of lanes
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
 * @name: as in tables
 * @size: shape, bytes, epochs and prediction for a window, a budget and a
 *	slack; 0 or a negative errno
 * @open: memory of an empty filter; whether there was some
 * @close: gives it back
 * @grow: see kind_grow(); memory and shape
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
int kind_size(struct kind *k, enum kind_nr nr, double window, double budget,
	      double slack);

/**
 * kind_fit() - the least error in so much memory
 * @k: result, not open
 * @nr: kind
 * @window: W
 * @bits: for each key of the window
 * @slack: at most
 *
 * Return: 0, or a negative errno. No more memory than that, and within half a
 * per cent of it where shapes are not too far apart, as they may be for tlbf.
 */
int kind_fit(struct kind *k, enum kind_nr nr, double window, double bits,
	     double slack);

bool kind_open(struct kind *k);
void kind_close(struct kind *k);

/**
 * kind_fill() - insert keys until all epochs are full
 * @k: open, empty
 * @windows: so many windows, and the current epoch
 *
 * Keys are kind_key(0), kind_key(1), .. and distinct.
 *
 * Return: how many.
 */
__u64 kind_fill(struct kind *k, unsigned int windows);

/**
 * kind_grow() - a filter as if it had been filled @times as large
 * @to: result, open; @from stays
 * @from: filled
 * @times: a multiple of 8
 *
 * Each line, cell or bit is there @times times in a row. As positions are
 * fractions of the memory, the keys of @from are in @to, and the share of bits
 * that are set, and so the error, is the same: what would take minutes to fill
 * takes a second. In dict the keys have become others, kind_grown_key(), and
 * the few of the backyard are not found.
 *
 * Return: was there memory?
 */
bool kind_grow(struct kind *to, const struct kind *from, __u64 times);

/* The key of @to for a key of the filter that it was grown from. */
__u64 kind_grown_key(const struct kind *to, __u64 digest, __u64 times);

/* Key @i of those inserted, key @i of those never inserted. */
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

/* Told L, the compiler unrolls the parts, as in the module. */
#define KIND_LANES(L)							\
	static inline void						\
	kind_lanes##L##_aim(const struct kind *k, __u64 digest,		\
			    struct kind_probe *p)			\
	{								\
		struct epf_lanes f = k->lanes.f;			\
									\
		f.geom.parts = L;					\
		epf_probe(&f, digest, &p->lanes);			\
	}								\
	static inline void						\
	kind_lanes##L##_aim_insert(const struct kind *k, __u64 digest,	\
				   struct kind_probe *p)		\
	{								\
		kind_lanes##L##_aim(k, digest, p);			\
	}								\
	static inline int						\
	kind_lanes##L##_test_at(const struct kind *k,			\
				struct kind_probe *p)			\
	{								\
		p->lanes.parts = L;					\
		return epf_test(&k->lanes.f, &p->lanes);		\
	}								\
	static inline void						\
	kind_lanes##L##_insert_at(struct kind *k, struct kind_probe *p)	\
	{								\
		p->lanes.parts = L;					\
		epf_insert(&k->lanes.f, &p->lanes);			\
	}								\
	static inline int						\
	kind_lanes##L##_test(const struct kind *k, __u64 digest)	\
	{								\
		struct kind_probe p;					\
									\
		kind_lanes##L##_aim(k, digest, &p);			\
		return kind_lanes##L##_test_at(k, &p);			\
	}								\
	static inline void						\
	kind_lanes##L##_insert(struct kind *k, __u64 digest)		\
	{								\
		struct kind_probe p;					\
									\
		kind_lanes##L##_aim(k, digest, &p);			\
		kind_lanes##L##_insert_at(k, &p);			\
	}								\
	static inline void kind_lanes##L##_rotate(struct kind *k)	\
	{								\
		kind_lanes_rotate(k);					\
	}

/* The store, and the worker's part: a chunk of the scan. */
static inline void kind_lanes_rotate(struct kind *k)
{
	__u64 first, end;

	epf_scan_chunk(&k->state, epf_geom_lines(&k->lanes.f.geom), &first,
		       &end);
	epf_scan(&k->lanes.f, first, end - first);
	k->state.scanned++;
	epf_rotate(&k->state, 0);
}

KIND_LANES(1)
KIND_LANES(2)
KIND_LANES(4)

/* Kinds whose digest is all there is to a test under way. */
#define KIND_AT(name)							\
	static inline int kind_##name##_test_at(const struct kind *k,	\
						struct kind_probe *p)	\
	{								\
		return kind_##name##_test(k, p->digest);		\
	}								\
	static inline void kind_##name##_insert_at(struct kind *k,	\
						   struct kind_probe *p) \
	{								\
		kind_##name##_insert(k, p->digest);			\
	}

#define KIND_SLAB(name, core)						\
	static inline int kind_##name##_test(const struct kind *k,	\
					     __u64 digest)		\
	{								\
		return epf_##core##_test(&k->core, digest);		\
	}								\
	static inline void kind_##name##_insert(struct kind *k,		\
						__u64 digest)		\
	{								\
		epf_##core##_insert(&k->core, digest);			\
	}								\
	static inline void kind_##name##_rotate(struct kind *k)		\
	{								\
		epf_##core##_rotate(&k->core);				\
	}								\
	KIND_AT(name)

KIND_SLAB(elastic, elastic)
KIND_SLAB(dict, dict)
KIND_SLAB(ge, ge)
KIND_SLAB(ge_paper, ge)
KIND_SLAB(gebl, gebl)
KIND_SLAB(apbf, apbf)
KIND_SLAB(apbbf, apbbf)

static inline void kind_elastic_aim(const struct kind *k, __u64 digest,
				    struct kind_probe *p)
{
	struct epf_elastic_key key;

	p->digest = digest;
	epf_elastic_locate(&k->elastic, digest, &key);
	epf_prefetch(key.line);
	epf_prefetch(key.line + k->elastic.shape.line_words - 8);
}

static inline void kind_dict_aim(const struct kind *k, __u64 digest,
				 struct kind_probe *p)
{
	struct epf_dict_place home;

	p->digest = digest;
	epf_dict_place(&k->dict, &home, digest);
	epf_prefetch(home.bucket);
	epf_prefetch(home.bucket + 8 * (k->dict.shape.lines - 1));
}

#define kind_elastic_aim_insert kind_elastic_aim
#define kind_dict_aim_insert kind_dict_aim

/* The first cells, at which most tests of absent keys end. */
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

static inline void kind_ge_aim(const struct kind *k, __u64 digest,
			       struct kind_probe *p)
{
	p->digest = digest;
	kind_ge_cells(k, digest, KIND_GE_FIRST);
}

static inline void kind_ge_aim_insert(const struct kind *k, __u64 digest,
				      struct kind_probe *p)
{
	p->digest = digest;
	kind_ge_cells(k, digest, EPF_GE_BITS_MAX);
}

/* The first position in every segment; in the current one all of them. */
static inline void kind_ge_paper_aim(const struct kind *k, __u64 digest,
				     struct kind_probe *p)
{
	__u64 pos = epf_mulhi(digest, k->ge.shape.segment_bits);
	__u32 i;

	p->digest = digest;
	for (i = 0; i <= k->ge.shape.epochs; i++)
		epf_prefetch(k->ge.word + i * epf_ge_stride(&k->ge.shape) +
			     (pos >> 6));
}

static inline void kind_ge_paper_aim_insert(const struct kind *k, __u64 digest,
					    struct kind_probe *p)
{
	const __u64 *segment = k->ge.word +
			       k->ge.now * epf_ge_stride(&k->ge.shape);
	__u64 at = digest, step = epf_ge_step(digest);
	__u32 i;

	p->digest = digest;
	for (i = 0; i < k->ge.shape.bits; i++, at += step)
		epf_prefetch(segment +
			     (epf_mulhi(at, k->ge.shape.segment_bits) >> 6));
}

static inline void kind_gebl_aim(const struct kind *k, __u64 digest,
				 struct kind_probe *p)
{
	__u64 words = epf_gebl_group(&k->gebl.shape), i;
	const __u64 *group = k->gebl.word +
			     epf_mulhi(digest, k->gebl.shape.blocks) * words;

	p->digest = digest;
	for (i = 0; i < words; i += 8)
		epf_prefetch(group + i);
}

static inline void kind_gebl_aim_insert(const struct kind *k, __u64 digest,
					struct kind_probe *p)
{
	const struct epf_gebl_shape *s = &k->gebl.shape;
	__u64 block = epf_mulhi(digest, s->blocks);

	p->digest = digest;
	epf_prefetch(k->gebl.word + block * epf_gebl_group(s) +
		     k->gebl.now * epf_gebl_block(s));
}

/* Where Algorithm 1 lands while it finds nothing; the k youngest. */
#define KIND_AGED_AIM(name, ring, LOOK)					\
	static inline void kind_##name##_aim(const struct kind *k,	\
					     __u64 digest,		\
					     struct kind_probe *p)	\
	{								\
		int at = (int)(ring)->l;				\
									\
		p->digest = digest;					\
		for (; at >= 0; at -= (int)(ring)->k)			\
			LOOK(k, digest, (__u32)at);			\
	}								\
	static inline void kind_##name##_aim_insert(const struct kind *k, \
						    __u64 digest,	\
						    struct kind_probe *p) \
	{								\
		__u32 i;						\
									\
		p->digest = digest;					\
		for (i = 0; i < (ring)->k; i++)				\
			LOOK(k, digest, i);				\
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
	(void)k; /* insertions see to it */
}

KIND_AT(tlbf)

static inline void kind_tlbf_look(const struct kind *k, __u64 digest, __u32 i)
{
	__u64 mask;

	epf_prefetch(epf_tlbf_locate(&k->tlbf.f, digest, i, &mask));
}

static inline void kind_tlbf_aim(const struct kind *k, __u64 digest,
				 struct kind_probe *p)
{
	struct epf_seek q = epf_tlbf_seek(&k->tlbf.f, k->now_ns);

	p->digest = digest;
	for (; q.at >= 0; q.at -= q.k)
		kind_tlbf_look(k, digest, (__u32)q.at);
}

static inline void kind_tlbf_aim_insert(const struct kind *k, __u64 digest,
					struct kind_probe *p)
{
	__u32 i;

	p->digest = digest;
	for (i = 0; i < k->tlbf.f.shape.k; i++)
		kind_tlbf_look(k, digest, i);
}

#define KIND_BASELINE(name)						\
	static inline int kind_##name##_test(const struct kind *k,	\
					     __u64 digest)		\
	{								\
		return epf_##name##_test(&k->name, digest);		\
	}								\
	static inline void kind_##name##_insert(struct kind *k,		\
						__u64 digest)		\
	{								\
		epf_##name##_insert(&k->name, digest);			\
	}								\
	static inline void kind_##name##_rotate(struct kind *k)		\
	{								\
		(void)k;						\
	}

KIND_BASELINE(cbf)
KIND_BASELINE(sbf)

#endif /* SELFTESTS_KINDS_H */
