/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: merging the snapshots of several hosts into one, which holds every key
 * that any of them has seen. The filters are of kind lanes, in mode time, with
 * equal geometry, hash key and window.
 *
 * Epochs are matched by the wall clock. With P the pitch of aligned windows and
 * "near" a share of it (window.h), interval i is the time from i P to (i + 1) P.
 * An epoch is assigned to the youngest interval into which it reaches by more
 * than "near": its keys belong to that interval or to older ones. So
 *
 *   - a key of any host, seen within T before the merged snapshot's time and
 *     before its own host's snapshot, is present;
 *   - with an age of at most its interval's, one more if it was seen in the
 *     near part of one;
 *   - and a filter restored from the merged snapshot keeps it for at least T
 *     after it was seen: in the result an interval begins when the last epoch of
 *     all earlier intervals has ended, and at least T/7 after its predecessor.
 *
 * Times are those of each host's clock. If a clock is wrong by c, the ages and
 * retention times of that host's keys are wrong by c.
 */
#ifndef LIBEPF_MERGE_H
#define LIBEPF_MERGE_H

#include "epf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EPF_MERGE_MAX 256u /* snapshots */

/**
 * enum epf_merge_fault - why snapshots cannot be merged
 */
enum epf_merge_fault {
	EPF_MERGE_OK,
	EPF_MERGE_KIND,      /* not of kind lanes */
	EPF_MERGE_MODE,      /* epochs end by insertions */
	EPF_MERGE_TIMES,     /* epochs and times that cannot be */
	EPF_MERGE_KEY,       /* another hash key */
	EPF_MERGE_HASH,      /* another hash */
	EPF_MERGE_GEOMETRY,  /* other lines, lines or bits a key */
	EPF_MERGE_WINDOW,    /* another window */
	EPF_MERGE_TWICE,     /* the same snapshot again */
	EPF_MERGE_DESC,      /* keys made of something else */
	EPF_MERGE_UNALIGNED, /* an epoch ends far from an interval's end */
};

/**
 * struct epf_merge_source - how one snapshot enters the result
 * @to: lane i is read at epoch from[i] and enters epoch to[i] of the result; 0:
 *	the lane is left out, because it is missing or older than the window
 * @from: see @to
 * @epochs: number of lanes that enter
 */
struct epf_merge_source {
	__u64 to[EPF_EPOCHS];
	__u64 from[EPF_EPOCHS];
	__u32 epochs;
};

/**
 * typedef epf_combine_fn - join a chunk with those of the other processes
 * @words: merged from the files of this process; in the process that saves, the result
 *	from those of all
 * @nr: number of them
 * @err: 0, or why this process cannot go on
 *
 * All processes call it for the same chunks in the same order; one that cannot go on
 * calls it once more, instead of for its next chunk.
 *
 * Return: 0; @err; -ECANCELED: another process cannot go on.
 */
typedef int (*epf_combine_fn)(__u64 *words, size_t nr, int err);

/**
 * struct epf_merge - several snapshots
 * @file: opened; @nr of them
 * @nr: 1 .. EPF_MERGE_MAX
 * @loose: also accept epochs that do not end near the end of an interval; their
 *	keys are kept up to one epoch longer, which raises the false-positive rate
 * @progress: called with bytes of lines read; or NULL
 * @combine: NULL, or joins the chunks of several processes, each of which has the lines
 *	of other files: see epf_merge_share()
 * @ctx: for @progress
 * @header: out: of the result, with name, budget, limit and refresh of the
 *	first; its budget and limit may be changed before the result is saved
 * @desc: out: what the keys of the result are made of
 * @source: out: by file
 * @which: out: index of the file at fault
 * @with: out: index of the other file, for faults between two
 * @fpr: out: probability that a key that no host has seen is present, from all
 *	lanes of the result
 */
struct epf_merge {
	const struct epf_snap_file *file;
	__u32 nr;
	bool loose;
	epf_progress_fn progress;
	epf_combine_fn combine;
	void *ctx;
	struct epf_snap_header header;
	struct epf_key_desc desc;
	struct epf_merge_source source[EPF_MERGE_MAX];
	__u32 which;
	__u32 with;
	double fpr;
};

/**
 * epf_merge_plan() - match epochs
 * @m: merge with its inputs set
 *
 * Return: EPF_MERGE_OK, or what is wrong with @m->which.
 */
enum epf_merge_fault epf_merge_plan(struct epf_merge *m);

/**
 * epf_merge_save() - write the merged snapshot
 * @m: planned merge
 * @path: as for epf_snap_save(); not one of the input files
 * @saved: out: the new file is at @path
 *
 * The lines are read once, in order; the call needs memory for one chunk of them.
 *
 * Return: as epf_snap_save().
 */
int epf_merge_save(struct epf_merge *m, const char *path, bool *saved);

/**
 * epf_merge_share() - take part in a merge that another process saves
 * @m: planned merge with @combine; a file of another process has a header and a
 *	description, but no @lines
 *
 * Return: 0; an error of @combine; -ECANCELED; -ENOMEM.
 */
int epf_merge_share(struct epf_merge *m);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_MERGE_H */
