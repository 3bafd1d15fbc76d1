/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mirrors of filters (libepf/mirror.h), which audits ask in place of a copy.
 *
 * The lines of a mirror stay still while an audit uses them: it is followed
 * only where none does. So a view of it is one of a copy made when it was
 * followed last, at that epoch; no tag can come round, however many epochs end
 * during the audit: the law of moving lines (struct epf_view) is not needed.
 *
 * All is the worker's: a mirror is for one thread, that thread is the one that
 * knows when no engine reads the lines, and so no lock is needed. While a step
 * runs nothing is followed; a journal that comes round meanwhile is noticed.
 */
#ifndef EPFAGENT_MIRRORS_H
#define EPFAGENT_MIRRORS_H

#include "audit/job.h"
#include "audit/target.h"
#include "epfagent/stats.h"

#define MIRRORS_MAX 16
#define MIRROR_ORDER 17 /* 4 MiB a CPU: 1.3 million insertions a second */

struct mirror;
struct mirrors;
struct warm;

/**
 * struct mirror_conf - one that is wanted
 * @name: of the filter
 * @order: of its journal, see epf_mirror_open()
 */
struct mirror_conf {
	char name[EPF_NAME_LEN];
	__u32 order;
};

struct mirrors_conf {
	struct mirror_conf mirror[MIRRORS_MAX];
	unsigned int nr;
};

/* Their lines are accounted for in @warm. Return: NULL: no memory. */
struct mirrors *mirrors_new(struct warm *warm, struct agent_stats *stats);
/* None is in use. */
void mirrors_free(struct mirrors *all);

/* What is wanted from now on; one that is in use is left when it is not. */
void mirrors_set(struct mirrors *all, const struct mirrors_conf *conf);

/**
 * mirrors_tick() - follow those that are due, try again to begin the others
 * @all: mirrors
 * @pace: when to end, though there is more; a step of each is done
 *
 * Return: ns until there may be something to do again; 0: there are none.
 */
__u64 mirrors_tick(struct mirrors *all, const struct job_pace *pace);

/**
 * struct mirrors_ask - what an audit needs
 * @since_ns: CLOCK_MONOTONIC: what was inserted before is to be found
 * @fresh_ns: but one that is in use serves where it was followed so much earlier
 * @pace: when to end, though there is more to be brought up to date
 */
struct mirrors_ask {
	__u64 since_ns;
	__u64 fresh_ns;
	const struct job_pace *pace;
};

/**
 * mirrors_look() - look for a mirror, and bring it up to date
 * @all: mirrors
 * @info: of the filter that is to be asked
 * @ask: how
 * @m: result; NULL: there is none, or none that can be asked now
 *
 * Return: 1: it is not up to date yet: call it again; 0.
 */
int mirrors_look(struct mirrors *all, const struct epf_info *info,
		 const struct mirrors_ask *ask, struct mirror **m);

/* Ask one that was found just now: @t is made like a copy, and mirror_put() to be
 * called when it is not asked any more.
 */
void mirror_use(struct mirror *m, const struct epf_info *info, struct target *t);
void mirror_put(struct mirror *m);

#endif /* EPFAGENT_MIRRORS_H */
