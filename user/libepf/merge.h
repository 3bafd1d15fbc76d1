/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libepf: snapshots of several hosts become one, which holds what any of them
 * has seen: filters of kind lanes, of equal geometry, hash key and window, in
 * mode time.
 *
 * Epochs are matched by the wall clock. With P the pitch of aligned windows and
 * "near" a share of it (window.h), interval i is the time from i P to (i + 1) P;
 * an epoch goes to the youngest interval that it reaches into by more than what
 * is near: its keys are of that one or of older ones. So
 *
 *   - a key of any host, seen within T before the merged snapshot's time and
 *     before its own host's snapshot, is present;
 *   - with an age of at most its interval's, one more if it was seen in the
 *     near part of one;
 *   - and a filter restored from the merged snapshot keeps it until T after it
 *     was seen, at least: an interval is said to begin where the last epoch
 *     of those before it has ended, and at least T/7 after the one before.
 *
 * Times are those of each host's clock: one that is wrong by c makes the ages of
 * that host's keys, and how long they are kept, wrong by c.
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
	EPF_MERGE_KIND,	     /* not of kind lanes */
	EPF_MERGE_MODE,	     /* epochs end by insertions */
	EPF_MERGE_TIMES,     /* epochs and times that cannot be */
	EPF_MERGE_KEY,	     /* another hash key */
	EPF_MERGE_HASH,	     /* another hash */
	EPF_MERGE_GEOMETRY,  /* other lines, lines or bits a key */
	EPF_MERGE_WINDOW,    /* another window */
	EPF_MERGE_TWICE,     /* the same snapshot again */
	EPF_MERGE_DESC,	     /* keys made of something else */
	EPF_MERGE_UNALIGNED, /* an epoch ends far from an interval's end */
};

/**
 * struct epf_merge_source - what becomes of one snapshot
 * @to: lane i is read at epoch from[i] and becomes one of this; 0: it is left
 *	out: there is none, or it is older than the window
 * @from: see @to
 * @epochs: so many lanes are taken
 */
struct epf_merge_source {
	__u64 to[EPF_EPOCHS];
	__u64 from[EPF_EPOCHS];
	__u32 epochs;
};

/**
 * struct epf_merge - several snapshots
 * @file: opened; @nr of them
 * @nr: 1 .. EPF_MERGE_MAX
 * @loose: also take epochs that do not end near the end of an interval; their keys
 *	are kept by up to an epoch longer, and the filter errs accordingly
 * @progress: or NULL; bytes of lines read
 * @ctx: for @progress
 * @header: out: of the result, with name, budget, limit and refresh of the
 *	first; its budget and limit may be changed before the result is saved
 * @desc: out: what the keys of the result are made of
 * @source: out: by file
 * @which: out: the file at fault
 * @with: out: the other one, where it takes two
 * @fpr: out: chance that a key that no host has seen is present, from all
 *	lanes of the result
 */
struct epf_merge {
	const struct epf_snap_file *file;
	__u32 nr;
	bool loose;
	epf_progress_fn progress;
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
 * @m: what goes in is set
 *
 * Return: EPF_MERGE_OK, or what is wrong with @m->which.
 */
enum epf_merge_fault epf_merge_plan(struct epf_merge *m);

/**
 * epf_merge_save() - write the merged snapshot
 * @m: planned
 * @path: as of epf_snap_save(); of none of the files
 * @saved: out: the new file is at @path
 *
 * The lines are read once, in order; memory is that of a chunk of them.
 *
 * Return: as epf_snap_save().
 */
int epf_merge_save(struct epf_merge *m, const char *path, bool *saved);

#ifdef __cplusplus
}
#endif

#endif /* LIBEPF_MERGE_H */
