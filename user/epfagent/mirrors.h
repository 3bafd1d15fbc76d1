/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mirrors of filters (libepf/mirror.h), which audits use in place of a copy.
 *
 * The lines of a mirror do not change while an audit uses them, because a mirror is only
 * followed (updated) while no audit uses it. A view of it is therefore like a view of a
 * copy made at the epoch when it was followed last. No tag can wrap, however many epochs
 * end during the audit, so the rules for moving lines (struct epf_view) do not apply.
 *
 * Only the worker uses mirrors: a mirror is for one thread, and that thread knows when
 * no engine reads the lines, so no lock is needed. Nothing is followed while a step
 * runs; a journal that overflows meanwhile is noticed.
 */
#ifndef EPFAGENT_MIRRORS_H
#define EPFAGENT_MIRRORS_H

#include "jobs/job.h"
#include "jobs/target.h"
#include "metrics/stats.h"

#define MIRRORS_MAX 16
#define MIRROR_ORDER 17 /* 4 MiB per CPU: 1.3 million insertions a second */

struct mirror;
struct mirrors;
struct cache;

/**
 * struct mirror_conf - a configured mirror
 * @name: name of the filter
 * @order: order of its journal, see epf_mirror_open()
 */
struct mirror_conf {
	char name[EPF_NAME_LEN];
	__u32 order;
};

struct mirrors_conf {
	struct mirror_conf mirror[MIRRORS_MAX];
	unsigned int nr;
};

/* The memory of their lines is accounted in @cache. Return: NULL: out of memory. */
struct mirrors *mirrors_new(struct cache *cache, struct agent_stats *stats);
/* None may be in use. */
void mirrors_free(struct mirrors *all);

/* Change the configured mirrors. One that is in use is dropped when no audit uses it. */
void mirrors_set(struct mirrors *all, const struct mirrors_conf *conf);

/**
 * mirrors_tick() - follow mirrors that are due, retry to begin the others
 * @all: mirrors
 * @pace: when to end although there is more to do; at least one step of each is done
 *
 * Return: ns until the next call is due; 0: there are no mirrors.
 */
__u64 mirrors_tick(struct mirrors *all, const struct job_pace *pace);

/**
 * struct mirrors_ask - what an audit needs
 * @since_ns: CLOCK_MONOTONIC: everything inserted before must be found
 * @fresh_ns: a mirror in use may have been followed this much earlier
 * @pace: when to end although the mirror is not up to date yet
 */
struct mirrors_ask {
	__u64 since_ns;
	__u64 fresh_ns;
	const struct job_pace *pace;
};

/**
 * mirrors_look() - find a mirror and bring it up to date
 * @all: mirrors
 * @info: of the filter
 * @ask: requirements of the audit
 * @m: result; NULL: there is none, or it cannot be used now
 *
 * Return: 1: it is not up to date yet: call again; 0.
 */
int mirrors_look(struct mirrors *all, const struct epf_info *info, const struct mirrors_ask *ask,
		 struct mirror **m);

/* Use a mirror that was just found: @t becomes a target like that of a copy. Call
 * mirror_put() after the last use.
 */
void mirror_use(struct mirror *m, const struct epf_info *info, struct target *t);
void mirror_put(struct mirror *m);

#endif /* EPFAGENT_MIRRORS_H */
