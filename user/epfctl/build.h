/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A snapshot made of files of records: request, order of the records, and result. */
#ifndef EPFCTL_BUILD_H
#define EPFCTL_BUILD_H

#include "cmd.h"
#include "records/records.h"

#define BUILD_FILES_MAX 64

/* build_order.c: the records of all files, by their time stamps */

/* Records that are held back so that they can be put in order. */
#define ORDER_HELD (1u << 16)

/**
 * struct stamped - a record
 * @ns: its time stamp
 * @digest: digest of its key
 */
struct stamped {
	__u64 ns;
	__u64 digest;
};

/**
 * struct feed - a file of records
 * @name: as given
 * @fd: the file
 * @live: a pipe, which cannot be read again: what came counts when a signal or damage ends it
 * @all_bytes: its size; 0: unknown
 * @source: its reader
 * @batch: records that were read
 * @at: index of the next record in @batch
 * @ended: there are no more
 * @damaged: why reading ended early; empty: it did not
 */
struct feed {
	const char *name;
	int fd;
	bool live;
	__u64 all_bytes;
	struct rec_source *source;
	struct rec_batch *batch;
	unsigned int at;
	bool ended;
	struct rec_error damaged;
};

/**
 * struct order - the records of several files in the order of their stamps
 * @feed: the files
 * @nr: how many
 * @keep_going: a damaged file ends at the damage
 * @heap: records held back; each is not older than the one at half its index
 * @held: how many
 *
 * The files are merged: the next record is the oldest of the files' next ones. Records
 * that are not in order within their file are put in order if no more than ORDER_HELD
 * records separate them.
 */
struct order {
	struct feed feed[BUILD_FILES_MAX];
	int nr;
	bool keep_going;
	struct stamped *heap;
	__u32 held;
};

/* Open the files. Return: 0, or EXIT_FAIL with an error printed. */
int order_open(struct order *o, char **names, int nr, const struct rec_spec *spec,
	       const struct epf_hash *hash, struct epf_key_desc *desc);

/* Return: 1; 0: there are no more; -1 with an error printed. */
int order_next(struct order *o, struct stamped *record);

/* Is one of the files a pipe? Then a signal ends all of them. */
bool order_is_live(const struct order *o);

/* Bytes of the files that were read, and their size; 0: unknown. */
__u64 order_done_bytes(const struct order *o);
__u64 order_all_bytes(const struct order *o);

/* The counts of all files. */
struct rec_count order_count(const struct order *o);
void order_close(struct order *o);

/* build.c */

/**
 * struct build_ask - the request
 * @out: snapshot to write
 * @name: of the filter in it
 * @files: of records; "-": standard input
 * @nr_files: how many
 * @plan_request: window, error and memory
 * @like: snapshot whose geometry, window, hash and hash key are used; NULL: none
 * @records: how to read them
 * @first_seen: a repeat does not restart its window
 * @hash: enum epf_hash_id
 * @align: epochs end by the wall clock
 * @keep_going: a damaged file ends at the damage
 * @force: write the snapshot also if its error is above the limit
 * @until_ns: the time of the snapshot; later records are left out. 0: that of the last
 *	record
 */
struct build_ask {
	const char *out;
	char name[EPF_NAME_LEN];
	char **files;
	int nr_files;
	struct epf_plan_request plan_request;
	const char *like;
	struct rec_spec records;
	bool first_seen;
	__u8 hash;
	bool align;
	bool keep_going;
	bool force;
	__u64 until_ns;
};

/**
 * struct build_result - the result
 * @count: of the records
 * @inserted: records whose key was inserted
 * @late: those of them that were older than one before them, and count as that one
 * @late_ns: by how much at most
 * @expired: records left out because they were older than the window then
 * @after: records left out because they were later than the snapshot's time, or in the
 *	future
 * @first_ns: the oldest stamp that counts
 * @last_ns: the latest
 * @end_ns: time of the snapshot
 * @gap_ns: the last time between two records that is longer than a key stays; 0: none
 * @after_gap: records after that gap
 * @planned: plan of the filter
 * @info: of the filter at the end
 * @epoch: its epoch at the end
 * @took_ns: time from opening to closing
 */
struct build_result {
	struct rec_count count;
	__u64 inserted;
	__u64 late;
	__u64 late_ns;
	__u64 expired;
	__u64 after;
	__u64 first_ns;
	__u64 last_ns;
	__u64 end_ns;
	__u64 gap_ns;
	__u64 after_gap;
	struct epf_planned planned;
	struct epf_info info;
	__u64 epoch;
	__u64 took_ns;
};

/* Is the error above the limit? More keys came than the filter is sized for. */
static inline bool build_saturated(const struct build_result *r)
{
	return r->info.fpr_ppt > r->info.params.limit_ppt;
}

/* Return: 0; or with an error printed and nothing written EXIT_FAIL, or EXIT_ABSENT: the error is
 * above the limit.
 */
int build_run(struct build_ask *ask, struct build_result *result);

/* build_report.c */
void build_print(const struct build_ask *ask, const struct build_result *r);
json_t *build_json(const struct build_ask *ask, const struct build_result *r);

#endif /* EPFCTL_BUILD_H */
