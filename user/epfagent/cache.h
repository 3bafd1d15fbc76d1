/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cache that lives between audits: copies of columns, of snapshots and of filters of
 * the kernel. Audits read only these copies, never memory that somebody else can take
 * away: a client may truncate its files at any time.
 *
 * Only the worker calls these functions, except cache_limit().
 */
#ifndef EPFAGENT_CACHE_H
#define EPFAGENT_CACHE_H

#include <sys/types.h>

#include "jobs/job.h"
#include "jobs/target.h"
#include "epfagent/mirrors.h"
#include "metrics/stats.h"

struct cache;
struct cache_entry;

enum cache_kind { WARM_COLUMN, WARM_SNAPSHOT, WARM_FILTER, WARM_READER };

/**
 * struct cache_conf - limits
 * @bytes: of all copies together
 * @fresh_ns: how long a copy of a filter is reused; 0: each audit makes a new copy
 * @threads: as in struct epf_answer
 * @mirrors: mirrored filters
 */
struct cache_conf {
	__u64 bytes;
	__u64 fresh_ns;
	unsigned int threads;
	struct mirrors_conf mirrors;
};

/* Return: NULL: out of memory. */
struct cache *cache_new(const struct cache_conf *conf, struct agent_stats *stats);
void cache_free(struct cache *w);

/* Set limits for future calls; from any thread. */
void cache_limit(struct cache *w, const struct cache_conf *conf);

/* Called between audits. Return: as mirrors_tick(). */
__u64 cache_tick(struct cache *w, const struct job_pace *pace);

/* Account for memory outside the cache. Return: 0; -ENOSPC. */
int cache_reserve(struct cache *w, __u64 bytes);
void cache_release(struct cache *w, __u64 bytes);

/**
 * cache_look_up() - find a filter of the kernel
 * @name: its name or id
 * @info: result
 * @e: set to the error text on failure
 *
 * Return: descriptor; a negative errno.
 */
int cache_look_up(const char *name, struct epf_info *info, struct rec_error *e);

/**
 * cache_file() - find the copy of a file, or begin one
 * @w: cache
 * @fd: regular file, open for reading
 * @uid: user; users do not share copies
 * @kind: WARM_COLUMN or WARM_SNAPSHOT
 * @entry: result; release it with cache_put()
 *
 * A file counts as unchanged if device, inode, size and time of change are the same. The
 * clock may be too coarse to tell two changes apart, so a copy of a file that changed
 * less than two seconds before it was read is not reused. Changes that the file system
 * does not date (through a mapping, until it is written back) are not noticed.
 *
 * Return: 0; -ENOSPC: it does not fit now, or never; -ENOMEM; other errors of system
 * calls.
 */
int cache_file(struct cache *w, int fd, uid_t uid, enum cache_kind kind,
	       struct cache_entry **entry);

/**
 * cache_reader() - account for the memory of a reader of records
 * @w: cache
 * @bytes: the memory
 * @uid: user; all readers of one user together may use half of the memory
 * @entry: result; release it with cache_put()
 *
 * Return: 0; -ENOSPC: no room now; -EFBIG: never; -ENOMEM.
 */
int cache_reader(struct cache *w, __u64 bytes, uid_t uid, struct cache_entry **entry);

/**
 * cache_fill() - copy some more of a file, then check some more of a snapshot
 * @w: cache
 * @entry: from cache_file()
 * @fd: the file
 * @keys: approximate number of keys that will be looked up in a snapshot
 * @pace: when to end although there is more to do
 * @e: set to the error text on failure
 *
 * Return: 1: there is more to do; 0: the copy is complete, and a snapshot sound; a
 * negative errno.
 */
int cache_fill(struct cache *w, struct cache_entry *entry, int fd, __u64 keys,
	       const struct job_pace *pace, struct rec_error *e);

#define WARM_WAIT 2

/**
 * cache_filter() - get a copy of a filter of the kernel, or its mirror
 * @w: cache
 * @name: name of the filter
 * @since_ns: CLOCK_MONOTONIC: everything inserted before must be found
 * @pace: when to end although there is more to do
 * @entry: NULL in the first call; result, which may be set before 0 is returned and must
 *	be released in any case
 * @e: set to the error text on failure
 *
 * No other function knows whether an entry is a copy or a mirror.
 *
 * Return: 1: there is more to do: call again; WARM_WAIT: likewise, but another audit,
 * which copies this filter, must continue first; 0; -ENOSPC as for cache_file(); else as
 * target_open().
 */
int cache_filter(struct cache *w, const char *name, __u64 since_ns, const struct job_pace *pace,
		 struct cache_entry **entry, struct rec_error *e);

/* For a column: the descriptor of the copy, and its serial (struct epf_column). */
int cache_fd(const struct cache_entry *entry);
__u64 cache_serial(const struct cache_entry *entry);
/* For a snapshot or a filter. */
const struct target *cache_target(const struct cache_entry *entry);

/* Release an entry. @entry may be NULL. */
void cache_put(struct cache *w, struct cache_entry *entry);

#endif /* EPFAGENT_CACHE_H */
