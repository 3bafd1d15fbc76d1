// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mirrors are begun, built, followed (updated from the journal), given up and begun
 * again. Building and following are passes of steps (libepf/mirror.h), which pause when
 * the pace is over.
 *
 * A mirror that cannot follow any more is closed, because the next contents may have
 * another size. If the contents or the filter were replaced, it is begun again by
 * itself. If the journal overflowed, only the next audit begins it again, so that a
 * filter too busy for its journal is not copied for nobody.
 */
#include "epfagent/mirrors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "records/rec_error.h"
#include "epfagent/cache.h"
#include "common/clock.h"
#include "common/error.h"
#include "libepf/backend.h"
#include "libepf/epf.h"
#include "mirror.h"

#define FOLLOW_NS (NS_PER_SEC / 10)
#define AGAIN_NS NS_PER_SEC /* between two tries to begin */

/**
 * struct mirror - a configured mirror
 * @link: in @all->list
 * @all: all mirrors
 * @conf: settings
 * @left: not configured any more
 * @filter: descriptor; -1: there is no mirror now, and @lines is NULL
 * @id: of the filter
 * @lines: mirror
 * @ready: it is built
 * @bytes: accounted memory
 * @users: number of audits that use it; @lines is only changed if this is 0
 * @pass_ns: CLOCK_MONOTONIC: start of the current pass; 0: none
 * @followed_ns: CLOCK_MONOTONIC: it has everything that was inserted before
 * @again_ns: CLOCK_MONOTONIC: it must not be begun before
 * @asked: only an audit may begin it
 * @said: errno logged last; 0: "started" was logged
 */
struct mirror {
	TAILQ_ENTRY(mirror) link;
	struct mirrors *all;
	struct mirror_conf conf;
	bool left;
	int filter;
	__u32 id;
	struct epf_mirror *lines;
	bool ready;
	__u64 bytes;
	unsigned int users;
	__u64 pass_ns;
	__u64 followed_ns;
	__u64 again_ns;
	bool asked;
	int said;
};

struct mirrors {
	struct cache *cache;
	struct agent_stats *stats;
	TAILQ_HEAD(, mirror) list;
};

/* Log a state once, until it changes. */
static void mirrors_say(struct mirror *m, int err, const char *text)
{
	if (m->said != err)
		(err ? warn : log_info)("mirror of '%s': %s", m->conf.name, text);
	m->said = err;
}

/* Beginning */

/* The counter goes down last: whoever reads the lower count can rely on the filter and
 * the memory being released.
 */
static void mirrors_shut(struct mirror *m)
{
	bool counted = m->ready;

	epf_mirror_close(m->lines);
	m->lines = NULL;
	m->ready = false;
	m->pass_ns = 0;
	if (m->filter >= 0)
		epf_close(m->filter);
	m->filter = -1;
	cache_release(m->all->cache, m->bytes);
	m->bytes = 0;
	if (counted)
		stats_sub(&m->all->stats->mirrors, 1);
}

/* Return: 0; -ESTALE: the contents were replaced, and their size is another. */
static int same_size(const struct mirror *m)
{
	struct epf_snap_header h;

	epf_mirror_header(m->lines, &h);
	return h.params.nr_lines * EPF_LINE_BYTES == m->bytes ? 0 : -ESTALE;
}

static int begin_lines(struct mirror *m, const struct epf_info *info)
{
	__u64 bytes = info->params.nr_lines * EPF_LINE_BYTES;
	int ret = epf_is_module(m->filter) ? cache_reserve(m->all->cache, bytes) : -ENOTTY;

	if (ret)
		return ret;
	m->bytes = bytes;
	m->id = info->id;
	m->pass_ns = now_ns();
	return epf_mirror_begin(m->filter, m->conf.order, 0, &m->lines);
}

static const char *mirrors_why(int err)
{
	if (err == -ENOSPC)
		return "the filter is larger than the agent's free memory: "
		       "raise 'memory'";
	if (err == -EBUSY)
		return "the filter has a journal, or a snapshot is in progress";
	if (err == -ENOTTY)
		return "the filter is pure BPF and has no journal: audits copy it";
	if (err == -EOPNOTSUPP)
		return "the filter is not of kind lanes";
	if (err == -EOVERFLOW)
		return "the journal overflowed: the next audit restarts the "
		       "mirror";
	return strerror(-err);
}

static void not_built(struct mirror *m, int err)
{
	m->asked = err == -EOVERFLOW;
	mirrors_shut(m);
	mirrors_say(m, err, mirrors_why(err));
}

static void mirrors_begin(struct mirror *m)
{
	struct rec_error e = { "" };
	struct epf_info info;
	int ret;

	m->again_ns = now_ns() + AGAIN_NS;
	m->filter = cache_look_up(m->conf.name, &info, &e);
	if (m->filter < 0) {
		mirrors_say(m, m->filter, e.text);
		return;
	}
	ret = begin_lines(m, &info);
	if (ret)
		not_built(m, ret);
}

static void built(struct mirror *m)
{
	int ret = same_size(m);

	m->ready = true;
	stats_add(&m->all->stats->mirrors, 1);
	stats_add(&m->all->stats->mirror_copies, 1);
	if (ret) {
		not_built(m, ret);
		return;
	}
	m->asked = false;
	mirrors_say(m, 0, "started");
}

/* Following */

/* The mirror cannot follow any more. If the contents were replaced, it is begun again in
 * a moment, and only the result of that is logged.
 */
static void behind(struct mirror *m, int err)
{
	mirrors_shut(m);
	m->again_ns = 0;
	m->asked = err == -EOVERFLOW;
	if (m->asked)
		mirrors_say(m, err, mirrors_why(err));
	else
		m->said = err;
}

static void follow(struct mirror *m)
{
	__u64 now = now_ns();
	int ret = epf_mirror_follow_begin(m->lines);

	if (ret)
		behind(m, ret);
	else
		m->pass_ns = now;
}

static void end_pass(struct mirror *m, int err)
{
	if (err) {
		(m->ready ? behind : not_built)(m, err);
		return;
	}
	m->followed_ns = m->pass_ns;
	m->pass_ns = 0;
	if (!m->ready)
		built(m);
}

/* Do some steps of the pass. Return: whether there are more. */
static bool mirrors_go_on(struct mirror *m, const struct job_pace *pace)
{
	int ret;

	do
		ret = epf_mirror_step(m->lines);
	while (ret > 0 && !job_pace_over(pace));
	if (ret <= 0)
		end_pass(m, ret);
	return ret > 0;
}

static void mirrors_forget(struct mirror *m)
{
	mirrors_shut(m);
	TAILQ_REMOVE(&m->all->list, m, link);
	free(m);
}

static void mirrors_tend(struct mirror *m, __u64 now, const struct job_pace *pace)
{
	if (m->users)
		return;
	if (m->left) {
		mirrors_forget(m);
		return;
	}
	if (!m->lines && !m->asked && now >= m->again_ns)
		mirrors_begin(m);
	else if (m->lines && !m->pass_ns && now - m->followed_ns >= FOLLOW_NS)
		follow(m);
	if (m->pass_ns)
		mirrors_go_on(m, pace);
}

static void tend_all(struct mirrors *all, bool ready, const struct job_pace *pace)
{
	struct mirror *m = TAILQ_FIRST(&all->list), *next;
	__u64 now = now_ns();

	for (; m; m = next) {
		next = TAILQ_NEXT(m, link);
		if (m->ready == ready)
			mirrors_tend(m, now, pace);
	}
}

static bool some_pass(const struct mirrors *all)
{
	const struct mirror *m;

	TAILQ_FOREACH(m, &all->list, link)
	if (m->pass_ns)
		return true;
	return false;
}

/* Follow ready mirrors first: building others takes long, and a journal must not
 * overflow meanwhile.
 */
__u64 mirrors_tick(struct mirrors *all, const struct job_pace *pace)
{
	tend_all(all, true, pace);
	tend_all(all, false, pace);
	if (TAILQ_EMPTY(&all->list))
		return 0;
	return some_pass(all) ? 1 : FOLLOW_NS;
}

/* Use */

static struct mirror *mirrors_find(struct mirrors *all, const char *name)
{
	struct mirror *m;

	TAILQ_FOREACH(m, &all->list, link)
	if (!m->left && !strcmp(m->conf.name, name))
		return m;
	return NULL;
}

/* Bring a mirror up to date, or begin a closed one if @again_ns allows it. Return: there
 * is more to do.
 */
static bool refresh(struct mirror *m, const struct mirrors_ask *ask)
{
	for (;;) {
		if (!m->lines && now_ns() >= m->again_ns)
			mirrors_begin(m);
		else if (m->lines && !m->pass_ns && m->followed_ns < ask->since_ns)
			follow(m);
		else if (!m->pass_ns)
			return false;
		if (m->pass_ns && mirrors_go_on(m, ask->pace))
			return true;
	}
}

static void make_target(const struct mirror *m, const struct epf_info *info, struct target *t)
{
	memset(t, 0, sizeof(*t));
	t->filter = -1;
	t->place = TARGET_COPY;
	t->saturated = info->flags & EPF_INFO_SATURATED;
	t->fpr_ppt = info->fpr_ppt;
	epf_mirror_view(m->lines, &t->view);
	epf_mirror_header(m->lines, &t->header);
}

int mirrors_look(struct mirrors *all, const struct epf_info *info, const struct mirrors_ask *ask,
		 struct mirror **found)
{
	struct mirror *m = mirrors_find(all, info->params.name);

	*found = NULL;
	if (!m)
		return 0;
	if (!m->users && refresh(m, ask))
		return 1;
	if (!m->ready || m->id != info->id)
		return 0;
	if (!m->users || m->followed_ns + ask->fresh_ns >= ask->since_ns)
		*found = m;
	return 0;
}

void mirror_use(struct mirror *m, const struct epf_info *info, struct target *t)
{
	make_target(m, info, t);
	m->users++;
}

void mirror_put(struct mirror *m)
{
	m->users--;
}

/* All */

static bool mirrors_wanted(const struct mirrors_conf *conf, const struct mirror *m)
{
	unsigned int i;

	for (i = 0; i < conf->nr; i++)
		if (conf->mirror[i].order == m->conf.order &&
		    !strcmp(conf->mirror[i].name, m->conf.name))
			return true;
	return false;
}

static void mirrors_add(struct mirrors *all, const struct mirror_conf *conf)
{
	struct mirror *m = calloc(1, sizeof(*m));

	if (!m)
		return; /* audits copy the filter, as without a mirror */
	m->all = all;
	m->conf = *conf;
	m->filter = -1;
	m->said = 1; /* nothing logged yet */
	TAILQ_INSERT_TAIL(&all->list, m, link);
}

void mirrors_set(struct mirrors *all, const struct mirrors_conf *conf)
{
	struct mirror *m;
	unsigned int i;

	TAILQ_FOREACH(m, &all->list, link)
	m->left = !mirrors_wanted(conf, m);
	for (i = 0; i < conf->nr; i++)
		if (!mirrors_find(all, conf->mirror[i].name))
			mirrors_add(all, &conf->mirror[i]);
}

struct mirrors *mirrors_new(struct cache *cache, struct agent_stats *stats)
{
	struct mirrors *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->cache = cache;
	all->stats = stats;
	TAILQ_INIT(&all->list);
	return all;
}

void mirrors_free(struct mirrors *all)
{
	while (!TAILQ_EMPTY(&all->list))
		mirrors_forget(TAILQ_FIRST(&all->list));
	free(all);
}
