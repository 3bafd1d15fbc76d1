/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The target of an audit: a snapshot file, or a filter of the kernel, which is copied
 * first or read in place.
 *
 * Unless documented otherwise, functions return 0 or a negative errno. They print
 * nothing: struct rec_error has the error as one line.
 */
#ifndef JOBS_TARGET_H
#define JOBS_TARGET_H

#include "audit.h"
#include "records/records.h"
#include "work.h"

enum target_place {
	TARGET_AUTO, /* filter: chosen by the number of keys and the permissions */
	TARGET_COPY, /* filter: its state at one moment; needs CAP_NET_ADMIN */
	TARGET_LIVE, /* filter: its lines in place, while they change */
	TARGET_FILE, /* snapshot file; cannot be requested */
};

/**
 * struct target - an open target
 * @place: where the lines are; never TARGET_AUTO
 * @engine: best engine for that many keys; NULL: not determined
 * @why: phrase that gives the reason for @place and @engine
 * @view: view to look keys up in; it refers to what this struct holds
 * @header: of a snapshot or a copy, with its checksums. Of a filter in place only
 *	@params, @realtime_ns and the ages of @epochs, as of the time when it was opened
 * @saturated: the filter fails open, because its error may exceed the limit; the error of
 *	the snapshot is above it. The lines are read all the same: a key that is not in them
 *	was not inserted
 * @fpr_ppt: estimated error: of a filter, by its backend
 * @mtime_ns: of a snapshot: time of the file's last modification
 *
 * The rest is private. The struct must not be moved while @view is in use.
 */
struct target {
	enum target_place place;
	const struct epf_engine *engine;
	char why[EPF_WHY_LEN];
	struct epf_view view;
	struct epf_snap_header header;
	bool saturated;
	__u64 fpr_ppt;
	__u64 mtime_ns;

	struct epf_snap_file file;
	int filter;
	struct epf_work *work;
	unsigned int stage;
	enum epf_snap_fault fault;
};

/**
 * struct target_ask - what to open, and how
 * @name: a path if it contains a '/'; else the name or the id of a filter, else a
 *	path
 * @place: place of a filter
 * @keys: approximate number of keys that will be looked up; 0: unknown
 * @digests: only digests will be looked up
 * @far: an engine with memory of its own will be used, for which no copy is made here
 * @threads: as in struct epf_answer
 * @progress: called with the bytes checked or copied; may be NULL
 * @ctx: for @progress
 */
struct target_ask {
	const char *name;
	enum target_place place;
	__u64 keys;
	bool digests;
	bool far;
	unsigned int threads;
	epf_progress_fn progress;
	void *ctx;
};

/**
 * target_open() - open a target
 * @t: result; closed on failure, and may be closed again
 * @ask: what to open
 * @e: set to the error text on failure
 *
 * Without CAP_NET_ADMIN, digests can be looked up in a filter in place.
 *
 * Return: 0; -ENOENT: neither a filter nor a file; -EPERM: the copy or the hash key
 * needs CAP_NET_ADMIN; -EOPNOTSUPP: filters of this kind cannot be read in place;
 * -EBADMSG: not a sound snapshot; -EINVAL: @ask->place does not apply to a snapshot;
 * -EBUSY: another snapshot of the filter is in progress; -ECANCELED; other errors of
 * system calls.
 */
int target_open(struct target *t, const struct target_ask *ask, struct rec_error *e);

/* Likewise for a snapshot that is already open. The caller owns @fd and may close it
 * at once. @ask->name is used for @e only.
 */
int target_open_fd(struct target *t, int fd, const struct target_ask *ask, struct rec_error *e);

/**
 * target_peek() - find out what would be opened, without reading lines
 * @t: result: only @place and, for a snapshot, the checked @header and @view.desc;
 *	no keys can be looked up
 * @fd: result: the snapshot, which the caller closes; -1: it is a filter, or this
 *	user can see no such file
 * @name: as in struct target_ask
 * @e: set to the error text on failure
 *
 * Return: as target_open().
 */
int target_peek(struct target *t, int *fd, const char *name, struct rec_error *e);

/* Like target_open(), for a filter that is already open. The target owns @filter from
 * now on, also on failure.
 */
int target_open_filter(struct target *t, int filter, const struct target_ask *ask,
		       struct rec_error *e);

/**
 * target_begin_fd() - like target_open_fd(), in steps
 * @t: result; closed on failure
 * @fd: as there
 * @ask: as there; @progress is not called
 * @e: set to the error text on failure
 *
 * The target is not usable before target_step() has returned 0.
 *
 * Return: as target_open_fd().
 */
int target_begin_fd(struct target *t, int fd, const struct target_ask *ask, struct rec_error *e);

/* Likewise for target_open_filter(), always with a copy. */
int target_begin_filter(struct target *t, int filter, const struct target_ask *ask,
			struct rec_error *e);

/**
 * target_step() - copy or check some more: see work.h
 * @t: target, closed on failure
 * @ask: as at the beginning
 * @e: set to the error text on failure
 *
 * Return: 1: there is more to do; 0: it is open; else as target_open().
 */
int target_step(struct target *t, const struct target_ask *ask, struct rec_error *e);

/**
 * target_epoch() - the current epoch
 * @t: open target
 *
 * Read it when an audit in place has ended: see struct epf_view.
 *
 * Return: the epoch; for a snapshot, a copy, or a filter destroyed meanwhile, that of
 * the view.
 */
__u64 target_epoch(const struct target *t);

/**
 * target_hide_key() - clear everything in a header that depends on the hash key
 * @h: header
 *
 * Clears the key and both checksums: the header's covers the key, the lines'
 * covers bits that the key chose. With an unkeyed checksum of either, a reader of the
 * output could test guesses of the key.
 */
void target_hide_key(struct epf_snap_header *h);

/* "snapshot", "copy", "live" */
const char *target_place_name(enum target_place place);

void target_close(struct target *t);

#endif /* JOBS_TARGET_H */
