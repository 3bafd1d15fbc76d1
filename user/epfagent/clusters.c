// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See clusters.h. */
#include "epfagent/clusters.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "cluster/live.h"
#include "common/error.h"
#include "epfagent/cluster_conf.h"
#include "epfagent/timer.h"
#include "records/rec_error.h"

#define LOOK_USEC 1000000

/**
 * struct member - a cluster
 * @link: in @all->list
 * @conf: its settings
 * @live: it runs; NULL: it could not be started
 */
struct member {
	TAILQ_ENTRY(member) link;
	struct cluster_conf conf;
	struct cluster *live;
};

/**
 * struct clusters - all clusters
 * @lock: protects @list: changed by the event loop only, read by clusters_stats()
 * @list: in the order of the file
 * @timer: until the threads of all are looked at again
 */
struct clusters {
	pthread_mutex_t lock;
	TAILQ_HEAD(, member) list;
	sd_event_source *timer;
};

/* A thread of a cluster hangs, in a library most likely, with what another one would need: so the
 * process ends, at once, and whoever supervises it (Restart= of its unit) starts it again.
 */
static _Noreturn void hang(const struct member *m)
{
	_exit(fail("cluster '%s': a thread hangs: this agent ends, to be started again",
		   m->conf.name));
}

static int clusters_look(sd_event_source *timer, uint64_t usec, void *arg)
{
	struct clusters *all = arg;
	struct member *m;

	(void)usec;
	TAILQ_FOREACH(m, &all->list, link)
	if (!cluster_look(m->live))
		hang(m);
	if (!TAILQ_EMPTY(&all->list))
		timer_start(timer, LOOK_USEC);
	return 0;
}

struct clusters *clusters_new(sd_event *loop)
{
	struct clusters *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	if (timer_new(&all->timer, loop, clusters_look, all)) {
		free(all);
		return NULL;
	}
	pthread_mutex_init(&all->lock, NULL);
	TAILQ_INIT(&all->list);
	return all;
}

static void member_stop(struct clusters *all, struct member *m)
{
	pthread_mutex_lock(&all->lock);
	TAILQ_REMOVE(&all->list, m, link);
	pthread_mutex_unlock(&all->lock);
	if (!cluster_stop(m->live))
		hang(m);
	cluster_conf_free(&m->conf);
	free(m);
}

/* Takes over @conf. */
static void member_start(struct clusters *all, struct cluster_conf *conf)
{
	struct member *m = calloc(1, sizeof(*m));
	int ret = -ENOMEM;

	if (!cluster_start) {
		fail("cluster '%s': this epfagent was built without libnats, libisal, OpenSSL or libbpf",
		     conf->name);
		ret = 0;
	} else if (m) {
		m->conf = *conf;
		memset(conf, 0, sizeof(*conf));
		ret = cluster_start(&m->live, &m->conf);
	}
	if (ret)
		fail("cluster '%s': %s", m ? m->conf.name : conf->name, strerror(-ret));
	if (!m || !m->live) {
		if (m)
			cluster_conf_free(&m->conf);
		free(m);
		return;
	}
	pthread_mutex_lock(&all->lock);
	TAILQ_INSERT_TAIL(&all->list, m, link);
	pthread_mutex_unlock(&all->lock);
}

static struct member *member_of(struct clusters *all, const struct cluster_conf *conf)
{
	struct member *m;

	TAILQ_FOREACH(m, &all->list, link)
	if (cluster_conf_same(&m->conf, conf))
		return m;
	return NULL;
}

static bool member_wanted(const struct conf *conf, const struct member *m)
{
	unsigned int i;

	for (i = 0; conf && i < conf->nr_clusters; i++)
		if (cluster_conf_same(&conf->clusters[i], &m->conf))
			return true;
	return false;
}

void clusters_set(struct clusters *all, struct conf *conf)
{
	struct member *m = TAILQ_FIRST(&all->list), *next;
	unsigned int i;

	for (; m; m = next) {
		next = TAILQ_NEXT(m, link);
		if (!member_wanted(conf, m))
			member_stop(all, m);
	}
	for (i = 0; conf && i < conf->nr_clusters; i++) {
		m = member_of(all, &conf->clusters[i]);
		if (m)
			cluster_reopen(m->live);
		else
			member_start(all, &conf->clusters[i]);
	}
	if (!TAILQ_EMPTY(&all->list))
		timer_start(all->timer, LOOK_USEC);
}

void clusters_free(struct clusters *all)
{
	if (!all)
		return;
	clusters_set(all, NULL);
	sd_event_source_unref(all->timer);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* The reply */

static struct member *member_at(struct clusters *all, json_int_t nr, json_int_t *count)
{
	struct member *m, *found = NULL;

	*count = 0;
	TAILQ_FOREACH(m, &all->list, link)
	if ((*count)++ == nr)
		found = m;
	return found;
}

json_t *clusters_json(struct clusters *all, json_t *request, struct rec_error *e)
{
	json_int_t nr = 0, host = 0, count;
	const char *op;
	struct member *m;

	if (json_unpack_ex(request, NULL, JSON_STRICT, "{ss s?I s?I}", "op", &op, "nr", &nr, "host",
			   &host) ||
	    nr < 0 || host < 0 || host > CLUSTER_ROSTER_MAX) {
		rec_error_set(e, -EINVAL,
			      "cluster takes 'nr', the number of a cluster, 'host', that of its "
			      "first host to tell about, and nothing else");
		return NULL;
	}
	m = member_at(all, nr, &count);
	return json_pack("{sI so}", "clusters", count, "cluster",
			 m ? cluster_json(m->live, (unsigned int)host, CLUSTERS_HOSTS) :
			     json_null());
}

int clusters_stats(void *of, struct stats_cluster **clusters, struct stats_peer **peers,
		   unsigned int *nr_peers)
{
	struct clusters *all = of;
	int nr = 0, most = 0;
	struct member *m;

	pthread_mutex_lock(&all->lock);
	TAILQ_FOREACH(m, &all->list, link)
	most++;
	*nr_peers = 0;
	*clusters = calloc((size_t)most + 1, sizeof(**clusters));
	*peers = calloc((size_t)most * CLUSTER_ROSTER_MAX + 1, sizeof(**peers));
	TAILQ_FOREACH(m, &all->list, link)
	{
		if (!*clusters || !*peers)
			break;
		*nr_peers += cluster_stats(m->live, &(*clusters)[nr++], *peers + *nr_peers);
	}
	pthread_mutex_unlock(&all->lock);
	return *clusters && *peers ? nr : -ENOMEM;
}
