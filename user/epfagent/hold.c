// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See hold.h. */
#include "epfagent/hold.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "ebpf/ebpf.h"
#include "common/clock.h"
#include "common/error.h"
#include "libepf/backend.h"
#include "libepf/epf.h"

#define LOOK_NS 500000000ULL  /* interval of the search for new filters */
#define AGAIN_NS 500000000ULL /* retry interval if another process holds it or on error */
#define STACK_BYTES 262144

/**
 * struct holding - a filter and its thread
 * @link: in @all->list
 * @all: all holdings
 * @name: name of the filter
 * @thread: thread that ends its epochs
 * @held: atomic: the thread ends the filter's epochs
 * @over: the thread is about to end because the filter was destroyed
 * @said: errno logged last; 0: "held" was logged; used by the thread only
 */
struct holding {
	LIST_ENTRY(holding) link;
	struct holds *all;
	char name[EPF_NAME_LEN];
	pthread_t thread;
	bool held;
	bool over;
	int said;
};

/**
 * struct holds - all holdings; except for @end and @list only @thread uses it
 * @conf: which filters to hold
 * @stats: counters
 * @end: eventfd: all threads must end
 * @thread: thread that looks for filters
 * @lock: protects @list: changed by @thread only, read by holds_json()
 * @list: current holdings
 * @said: errno of the last search
 */
struct holds {
	struct hold_conf conf;
	struct agent_stats *stats;
	int end;
	pthread_t thread;
	pthread_mutex_t lock;
	LIST_HEAD(, holding) list;
	int said;
};

/* Return: false: all threads must end. */
static bool wait_ns(const struct holds *h, __u64 ns)
{
	const struct timespec t = {
		.tv_sec = (time_t)(ns / NS_PER_SEC),
		.tv_nsec = (long)(ns % NS_PER_SEC),
	};
	struct pollfd p = { .fd = h->end, .events = POLLIN };

	return ppoll(&p, 1, &t, NULL) <= 0;
}

/* One filter */

static const char *hold_why(int err)
{
	switch (err) {
	case -EBUSY:
		return "another process already ends its epochs";
	case -EOPNOTSUPP:
		return "the kernel ends its epochs";
	case -EUCLEAN:
		return EPF_HALF_SWAPPED;
	case -ETIMEDOUT:
		return "a process that is changing it is stuck";
	case -EPERM:
	case -EACCES:
		return "permission denied: it belongs to another user";
	default:
		return strerror(-err);
	}
}

/* Log a state once, until it changes. */
static void hold_say(struct holding *g, int err)
{
	if (g->said == err)
		return;
	g->said = err;
	if (!err)
		log_info("filter '%s': this agent ends its epochs", g->name);
	else if (err == -EBUSY || err == -EOPNOTSUPP)
		log_info("filter '%s': %s", g->name, hold_why(err));
	else
		warn("filter '%s': cannot end its epochs: %s", g->name, hold_why(err));
}

/* Return: 0: all threads must end; -ENODEV: destroyed; another negative errno: failed. */
static int step_on(struct holding *g, struct ebpf_hold *hold)
{
	__u64 ns = 0;
	int ret;

	do {
		ret = ebpf_hold_step(hold, &ns);
		if (!ret)
			hold_say(g, 0);
	} while (ret >= 0 && wait_ns(g->all, ns));
	return ret > 0 ? 0 : ret;
}

static int hold_once(struct holding *g)
{
	struct ebpf_hold *hold;
	int ret = ebpf_hold_begin(g->name, &hold);

	if (ret)
		return ret;
	ebpf_hold_yield(hold);
	stats_add(&g->all->stats->holds, 1);
	__atomic_store_n(&g->held, true, __ATOMIC_RELAXED);
	ret = step_on(g, hold);
	__atomic_store_n(&g->held, false, __ATOMIC_RELAXED);
	stats_sub(&g->all->stats->holds, 1);
	ebpf_hold_end(hold);
	return ret;
}

static void *hold_filter(void *arg)
{
	struct holding *g = arg;
	int ret;

	do {
		ret = hold_once(g);
		if (!ret || ret == -ENODEV || ret == -ENOENT)
			break;
		hold_say(g, ret);
	} while (wait_ns(g->all, AGAIN_NS));
	__atomic_store_n(&g->over, true, __ATOMIC_RELEASE);
	return NULL;
}

/* All */

static bool hold_wanted(const struct hold_conf *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (!strcmp(c->name[i], name))
			return true;
	return c->which == HOLD_ALL;
}

static bool hold_known(const struct holds *h, const char *name)
{
	const struct holding *g;

	LIST_FOREACH(g, &h->list, link)
	if (!strcmp(g->name, name))
		return true;
	return false;
}

static int hold_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return -err;
}

static int hold_add(struct holds *h, const char *name)
{
	struct holding *g = calloc(1, sizeof(*g));
	int ret;

	if (!g)
		return -ENOMEM;
	g->all = h;
	g->said = 1; /* nothing logged yet */
	snprintf(g->name, sizeof(g->name), "%s", name);
	ret = hold_start(&g->thread, hold_filter, g);
	if (ret) {
		free(g);
		return ret;
	}
	pthread_mutex_lock(&h->lock);
	LIST_INSERT_HEAD(&h->list, g, link);
	pthread_mutex_unlock(&h->lock);
	return 0;
}

/* Free the holdings whose threads have ended; @all: wait for all threads. */
static void hold_join(struct holds *h, bool all)
{
	struct holding *g = LIST_FIRST(&h->list), *next;

	for (; g; g = next) {
		next = LIST_NEXT(g, link);
		if (!all && !__atomic_load_n(&g->over, __ATOMIC_ACQUIRE))
			continue;
		pthread_join(g->thread, NULL);
		pthread_mutex_lock(&h->lock);
		LIST_REMOVE(g, link);
		pthread_mutex_unlock(&h->lock);
		free(g);
	}
}

/* Return: 0; the first error, though all other filters are held nevertheless. */
static int hold_look(struct holds *h)
{
	char **names;
	int nr = ebpf_pins_list(&names), ret = nr < 0 ? nr : 0, err, i;

	for (i = 0; i < nr; i++) {
		err = 0;
		if (hold_wanted(&h->conf, names[i]) && !hold_known(h, names[i]))
			err = hold_add(h, names[i]);
		ret = ret ? ret : err;
		free(names[i]);
	}
	free(names);
	return ret;
}

static void *look_for_filters(void *arg)
{
	struct holds *h = arg;
	int ret;

	do {
		hold_join(h, false);
		ret = hold_look(h);
		if (ret && ret != h->said)
			warn("cannot look for pure BPF filters: "
			     "%s%s",
			     strerror(-ret),
			     ret == -EACCES ? "; use 'hold = no' unless the agent is root" : "");
		h->said = ret;
	} while (wait_ns(h, LOOK_NS));
	hold_join(h, true);
	return NULL;
}

int holds_start(struct holds **holds, const struct hold_conf *conf, struct agent_stats *stats)
{
	struct holds *h = calloc(1, sizeof(*h));
	int ret;

	if (!h)
		return -ENOMEM;
	h->conf = *conf;
	h->stats = stats;
	LIST_INIT(&h->list);
	pthread_mutex_init(&h->lock, NULL);
	h->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = h->end < 0 ? -errno : hold_start(&h->thread, look_for_filters, h);
	if (!ret) {
		*holds = h;
		return 0;
	}
	if (h->end >= 0)
		close(h->end);
	free(h);
	return ret;
}

json_t *holds_json(struct holds *h)
{
	json_t *list = json_array();
	const struct holding *g;

	pthread_mutex_lock(&h->lock);
	LIST_FOREACH(g, &h->list, link)
	{
		if (json_array_size(list) == HOLD_LIST_MAX)
			break;
		json_array_append_new(list, json_pack("{ss sb}", "name", g->name, "held",
						      __atomic_load_n(&g->held, __ATOMIC_RELAXED)));
	}
	pthread_mutex_unlock(&h->lock);
	return list;
}

void holds_stop(struct holds *h)
{
	if (!h)
		return;
	eventfd_write(h->end, 1);
	pthread_join(h->thread, NULL);
	pthread_mutex_destroy(&h->lock);
	close(h->end);
	free(h);
}
