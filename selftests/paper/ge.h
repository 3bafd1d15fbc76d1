/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section ge: Alpay and Sarioglu, "Guarded Epoch Bloom Filters for Sliding-Window
 * Membership", 2026. The paper gives neither k nor B, nor the parameters of its streams and
 * of the stable filter. The notes of the rows state what was inferred.
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

/* ge_filter.c: the five structures of the paper, and one more, behind one interface */

enum structure { CBF, SBF, GE4, GE8, BLOCKED, DISTINCT, NR_STRUCTURES };
#define NR_PAPERS 5 /* DISTINCT is ours: blocks without double hashing */

struct filter {
	enum structure kind;
	__u64 left; /* insertions until the epoch ends */
	__u64 epoch_keys;
	__u64 *word;
	union {
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_cbf cbf;
		struct epf_sbf sbf;
	};
};

/* short names for files, and the paper's names */
extern const char *const structure_file[NR_STRUCTURES];
extern const char *const structure_name[NR_STRUCTURES];

static inline bool is_guarded(enum structure kind)
{
	return kind >= GE4;
}

/* r; 0 for structures without epochs */
unsigned int structure_epochs(enum structure kind);

/**
 * filter_make() - make a filter of the paper's size
 * @window: W
 * @bits: m / W
 * @layout: of GE4 and GE8, enum epf_ge_layout. EPF_GE_SEGMENTS takes m bits; the other
 *	layout gives the same answers.
 *
 * Exits if there is not enough memory.
 */
void filter_make(struct filter *f, enum structure kind, __u64 window, double bits, __u32 layout);
void filter_free(struct filter *f);

/* As in Algorithm 1: if the epoch is full, it ends before this insertion. */
void filter_insert(struct filter *f, __u64 digest);
bool filter_test(const struct filter *f, __u64 digest);

/* Predicted false-positive rate when all epochs are full of distinct keys. */
double filter_fpr(const struct filter *f, __u64 window);

/* Its parameters as text without commas. */
const char *filter_settings(const struct filter *f, char *text, size_t size);

/* ge_stream.c: keys to insert and keys to query */

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

/* Digest of a key under the seed @seed. */
__u64 key_digest(__u64 key, unsigned int seed);

/* Random word @n of a stream that is independent for each @what and @seed. */
__u64 draw(unsigned int what, unsigned int seed, __u64 n);
enum { DRAW_UNIFORM, DRAW_ZIPF, DRAW_BURSTY, DRAW_LIVE, DRAW_FRESH, DRAW_EXPIRED };

/**
 * struct score - one row of the paper's tables
 * @asked: queries for keys never inserted
 * @fp: of these, found
 * @fn: keys of the window that are not found
 * @expired: queries for keys of the previous window that are no longer in the window
 * @stale: of these, found
 * @seconds: time of all of these queries
 */
struct score {
	__u64 asked, fp, fn, expired, stale;
	double seconds;
};

/* Insert the stream, then run the queries. */
struct score filter_score(struct filter *f, const struct stream *s, unsigned int seed,
			  __u64 queries);

/* ge_log.c: an access log */

/**
 * log_read() - the keys of an access log: client, method and path of each record, in the
 * order of the time stamps
 * @distinct: number of distinct keys
 *
 * The window is to the log as 20,000 to 213,182 records, as in the paper.
 *
 * Return: false if no line of it is a record.
 */
bool log_read(struct stream *s, const char *path, __u64 *distinct);

/* ge_rows.c: rows of the sweeps, their medians, and the paper's numbers */

enum metric { FPR, FNR, EXPIRED, SPEED, NR_METRICS }; /* SPEED: Mq/s */

struct row {
	enum structure kind;
	double bits;
	double metric[NR_METRICS]; /* NAN: not applicable */
};

/**
 * struct rows - a sweep
 * @file: each row is written to it when it is complete
 * @papers: rows of the paper's structures
 * @lost: keys of the window that guarded filters did not find
 */
struct rows {
	FILE *file;
	struct row *row;
	size_t nr, room, papers;
	__u64 lost;
};

void rows_begin(struct rows *r, const struct paper *p, const char *table);
void rows_end(struct rows *r);

/* Measure all structures on one stream at one budget. */
void rows_add(struct rows *r, const struct stream *s, unsigned int seed, double bits);

/* Return: the median; NAN if no row has the metric. */
double rows_median(const struct rows *r, enum structure kind, double bits, enum metric metric);

/* Write a table of them, for @nr budgets. */
void rows_medians(const struct rows *r, const struct paper *p, const char *table,
		  const double *bits, unsigned int nr);

/* The paper's number, as printed; "" if it has none. */
struct printed {
	char text[NR_STRUCTURES][NR_METRICS][16];
};

/* Read the rows of @corpus. */
void printed_read(struct printed *p, const char *path, const char *corpus);

/* The parts of the section. */
void ge_table(const struct paper *p);
void ge_log(const struct paper *p);
void ge_closed(const struct paper *p);
void ge_laws(const struct paper *p);
void ge_scale(const struct paper *p);

#endif /* PAPER_GE_H */
