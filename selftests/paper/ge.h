/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section ge: Alpay and Sarioglu, "Guarded Epoch Bloom Filters for
 * Sliding-Window Membership", 2026. The paper names neither k nor B nor the
 * parameters of its streams and of the stable filter: what is inferred here is
 * said in the notes of the rows.
 */
#ifndef PAPER_GE_H
#define PAPER_GE_H

#include <epf/ge.h>
#include <epf/gebl.h>
#include <epf/hash.h>
#include <kinds/cbf.h>
#include <kinds/ge.h>
#include <kinds/gebl.h>
#include <kinds/sbf.h>

#include "paper.h"

/* ge_filter.c: the five structures of the paper, and one more, behind one
 * interface
 */

enum structure { CBF, SBF, GE4, GE8, BLOCKED, DISTINCT, NR_STRUCTURES };
#define NR_PAPERS 5 /* DISTINCT is ours: blocks without double hashing */

struct filter {
	enum structure kind;
	__u64 left; /* insertions until an epoch ends */
	__u64 epoch_keys;
	__u64 *word;
	union {
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_cbf cbf;
		struct epf_sbf sbf;
	};
};

/* Short names for files, and the paper's. */
extern const char *const structure_file[NR_STRUCTURES];
extern const char *const structure_name[NR_STRUCTURES];

static inline bool is_guarded(enum structure kind)
{
	return kind >= GE4;
}

/* r; 0 for those without epochs. */
unsigned int structure_epochs(enum structure kind);

/**
 * filter_make() - a filter of the paper's size
 * @window: W
 * @bits: m / W
 * @layout: of GE4 and GE8: enum epf_ge_layout. EPF_GE_SEGMENTS takes m bits;
 *	the other has the same answers.
 *
 * Exits where there is no memory.
 */
void filter_make(struct filter *f, enum structure kind, __u64 window, double bits, __u32 layout);
void filter_free(struct filter *f);

/* As Algorithm 1: the epoch ends before the insertion that is one too many. */
void filter_insert(struct filter *f, __u64 digest);
bool filter_test(const struct filter *f, __u64 digest);

/* Predicted false-positive rate, all epochs full of distinct keys. */
double filter_fpr(const struct filter *f, __u64 window);

/* Its settings, in words, without commas. */
const char *filter_settings(const struct filter *f, char *text, size_t size);

/* ge_stream.c: what is inserted and what is asked */

/**
 * struct stream - keys in order of insertion
 * @window: W
 */
struct stream {
	const char *name;
	__u64 *key;
	__u64 keys;
	__u64 window;
};

#define NR_WORKLOADS 3
extern const char *const workload_name[NR_WORKLOADS];
extern const char workload_note[];

void stream_synthetic(struct stream *s, unsigned int workload, unsigned int seed, __u64 window);
void stream_free(struct stream *s);

/* Digest of a key; keys at @seed's. */
__u64 key_digest(__u64 key, unsigned int seed);

/* Random word @n of a stream of its own for each of @what and @seed. */
__u64 draw(unsigned int what, unsigned int seed, __u64 n);
enum { DRAW_UNIFORM, DRAW_ZIPF, DRAW_BURSTY, DRAW_LIVE, DRAW_FRESH, DRAW_EXPIRED };

/**
 * struct score - one row of the paper's tables
 * @fp: fresh negatives that are found, of @asked
 * @fn: live keys that are not
 * @stale: keys of the window before, no more in the window, that are found, of
 *	@expired
 * @seconds: for all of these queries
 */
struct score {
	__u64 asked, fp, fn, expired, stale;
	double seconds;
};

/* Insert the stream, then ask. */
struct score filter_score(struct filter *f, const struct stream *s, unsigned int seed,
			  __u64 queries);

/* ge_log.c: an access log */

/**
 * log_read() - the keys of an access log: client, method and path of each
 *	record, in the order of the time stamps
 * @distinct: of the keys
 *
 * The window is 20,000 of 213,182 records, as in the paper.
 *
 * Return: false where nothing in it is a record.
 */
bool log_read(struct stream *s, const char *path, __u64 *distinct);

/* ge_rows.c: rows of the sweeps, their medians, what the paper prints */

enum metric { FPR, FNR, EXPIRED, SPEED, NR_METRICS }; /* SPEED: Mq/s */

struct row {
	enum structure kind;
	double bits;
	double metric[NR_METRICS]; /* NAN: nothing to ask */
};

/**
 * struct rows - a sweep
 * @file: where each row goes as it is made
 * @papers: rows of the paper's structures
 * @lost: live keys that guarded filters did not find
 */
struct rows {
	FILE *file;
	struct row *row;
	size_t nr, room, papers;
	__u64 lost;
};

void rows_begin(struct rows *r, const struct paper *p, const char *table);
void rows_end(struct rows *r);

/* All structures, over one stream, at one budget. */
void rows_add(struct rows *r, const struct stream *s, unsigned int seed, double bits);

/* Return: NAN where no row has the metric. */
double rows_median(const struct rows *r, enum structure kind, double bits, enum metric metric);

/* A table of them, for @nr budgets. */
void rows_medians(const struct rows *r, const struct paper *p, const char *table,
		  const double *bits, unsigned int nr);

/* What a table prints, as printed; "" where it has nothing. */
struct printed {
	char text[NR_STRUCTURES][NR_METRICS][16];
};

/* Reads the rows of @corpus. */
void printed_read(struct printed *p, const char *path, const char *corpus);

/* The parts of the section. */
void ge_table(const struct paper *p);
void ge_log(const struct paper *p);
void ge_closed(const struct paper *p);
void ge_laws(const struct paper *p);
void ge_scale(const struct paper *p);

#endif /* PAPER_GE_H */
