/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All clusters of this agent (cluster/live.h), one for each section [cluster NAME]. Everything
 * but clusters_stats() runs in the thread of the event loop.
 */
#ifndef EPFAGENT_CLUSTERS_H
#define EPFAGENT_CLUSTERS_H

#include <jansson.h>
#include <systemd/sd-event.h>

#include "epfagent/conf.h"

struct clusters;

/* @loop: looks at their threads once a second. If one hangs, the process ends. Return: NULL: out of
 * memory or descriptors.
 */
struct clusters *clusters_new(sd_event *loop);

/**
 * clusters_set() - begin those that are new, stop those that are not configured any more
 * @all: clusters
 * @conf: settings; the sections move to @all. NULL: stop all
 *
 * A cluster whose settings are the same goes on.
 */
void clusters_set(struct clusters *all, struct conf *conf);

/* Stop all. */
void clusters_free(struct clusters *all);

/**
 * clusters_json() - the reply to "cluster"
 * @all: clusters
 * @request: the message
 * @e: set to the error text on failure
 *
 * Return: a new reference; NULL: invalid, or out of memory.
 */
json_t *clusters_json(struct clusters *all, json_t *request, struct rec_error *e);
#define CLUSTERS_HOSTS 64u /* in one reply */

/* For metrics, see struct agent_stats. Context: any thread. */
int clusters_stats(void *all, struct stats_cluster **clusters, struct stats_peer **peers,
		   unsigned int *nr_peers);

#endif /* EPFAGENT_CLUSTERS_H */
