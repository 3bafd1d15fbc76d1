/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept warm between audits: copies of columns, of snapshots and of
 * filters of the kernel. An audit reads these copies and never memory that
 * somebody else can take away: a client may truncate its files at any time.
 *
 * Only the worker calls these functions, but for warm_limit().
 */
#ifndef EPFAGENT_WARM_H
#define EPFAGENT_WARM_H

#include <sys/types.h>

#include "audit/job.h"
#include "audit/target.h"
#include "epfagent/mirrors.h"
#include "epfagent/stats.h"

struct warm;
struct warm_entry;

enum warm_kind { WARM_COLUMN, WARM_SNAPSHOT, WARM_FILTER, WARM_READER };

/**
 * struct warm_conf - limits
 * @bytes: of all copies together
 * @fresh_ns: a copy of a filter serves so long; 0: each audit copies anew
 * @threads: as in struct epf_answer
 * @mirrors: filters that are mirrored
 */
struct warm_conf {
	__u64 bytes;
	__u64 fresh_ns;
	unsigned int threads;
	struct mirrors_conf mirrors;
};

/* Return: NULL: no memory. */
struct warm *warm_new(const struct warm_conf *conf, struct agent_stats *stats);
void warm_free(struct warm *w);

/* New limits, for what comes; from any thread. */
void warm_limit(struct warm *w, const struct warm_conf *conf);

/* Between audits: see mirrors_tick(), which it returns as. */
__u64 warm_tick(struct warm *w, const struct job_pace *pace);

/* Account for bytes that are kept elsewhere. Return: 0; -ENOSPC. */
int warm_reserve(struct warm *w, __u64 bytes);
void warm_release(struct warm *w, __u64 bytes);

/**
 * warm_look_up() - find a filter of the kernel
 * @name: or its id
 * @info: result
 * @e: what is wrong, on failure
 *
 * Return: descriptor; a negative errno.
 */
int warm_look_up(const char *name, struct epf_info *info, struct rec_error *e);

/**
 * warm_file() - the copy of a file, or the beginning of one
 * @w: all copies
 * @fd: regular file, open for reading
 * @uid: whose; users do not share copies
 * @kind: WARM_COLUMN or WARM_SNAPSHOT
 * @entry: result; to be given back by warm_put()
 *
 * A file is the same as before when device, inode, size and time of change are.
 * That takes a clock finer than two changes of it: what was changed two seconds
 * before it was read, or later, is not found again. Not noticed are changes that
 * a file system does not date (through a mapping, until it is written back).
 *
 * Return: 0; -ENOSPC: no room, or larger than all that there is; -ENOMEM; what
 * the calls to the system say.
 */
int warm_file(struct warm *w, int fd, uid_t uid, enum warm_kind kind,
	      struct warm_entry **entry);

/**
 * warm_reader() - account for the memory of a reader of records
 * @w: all copies
 * @uid: whose; all readers of one user have half of the memory at most
 * @entry: result; to be given back by warm_put()
 *
 * Return: 0; -ENOSPC: no room now; -EFBIG: never; -ENOMEM.
 */
int warm_reader(struct warm *w, uid_t uid, struct warm_entry **entry);

/**
 * warm_fill() - copy some more of a file, then check some more of a snapshot
 * @w: all copies
 * @entry: of warm_file()
 * @fd: the file
 * @keys: about so many will be asked of a snapshot
 * @pace: when to end, though there is more
 * @e: what is wrong, on failure
 *
 * Return: 1: there is more to do; 0: it is whole, and a snapshot sound; a
 * negative errno.
 */
int warm_fill(struct warm *w, struct warm_entry *entry, int fd, __u64 keys,
	      const struct job_pace *pace, struct rec_error *e);

#define WARM_WAIT 2

/**
 * warm_filter() - a copy of a filter of the kernel, or what its mirror is now
 * @w: all copies
 * @name: of it
 * @since_ns: CLOCK_MONOTONIC: what was inserted before is to be found
 * @pace: when to end, though there is more
 * @entry: NULL at first; result, also before it returns 0: it is to be given back
 * @e: what is wrong, on failure
 *
 * Nothing else knows where a copy comes from.
 *
 * Return: 1: there is more to do, by the same call; WARM_WAIT: likewise, but
 * another audit is to go on first, which copies this filter; 0; -ENOSPC as
 * warm_file(); as target_open().
 */
int warm_filter(struct warm *w, const char *name, __u64 since_ns,
		const struct job_pace *pace, struct warm_entry **entry,
		struct rec_error *e);

/* Of a column: a descriptor of the copy, and its serial (struct epf_column). */
int warm_fd(const struct warm_entry *entry);
__u64 warm_serial(const struct warm_entry *entry);
/* Of the others. */
const struct target *warm_target(const struct warm_entry *entry);

/* Not used any more. NULL is taken. */
void warm_put(struct warm *w, struct warm_entry *entry);

#endif /* EPFAGENT_WARM_H */
