/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings of epfagent: a file (common/conffile.h), and options "--key value", which take
 * precedence. Errors are printed as one line.
 */
#ifndef EPFAGENT_CONF_H
#define EPFAGENT_CONF_H

#include <stdbool.h>
#include <sys/types.h>

#include "cluster/live.h"
#include "jobs/agent.h"
#include "epfagent/hold.h"
#include "epfagent/hook.h"
#include "epfagent/keep.h"
#include "epfagent/sched.h"
#include "epfagent/cache.h"

#define CONF_FILE "/etc/epochfilter/agent.conf"
#define CONF_LIST_MAX 32
#define CONF_WATCHES_MAX 16
#define CONF_CLUSTERS_MAX 4

/**
 * struct conf_watch - a watched directory
 * @section: its section of the file, or NULL
 * @dir: path
 * @target: filter, or the path of a snapshot if it contains a '/'
 * @request: the audit to do for each file; without descriptors
 * @ages: write FILE.ages too
 * @records: write FILE.records too
 * @mode: permissions of results
 * @gid: their group; -1: the agent's, or that of a directory with setgid
 * @keep: how much of the results stays
 * @hook: program that runs after each audit
 */
struct conf_watch {
	char *section;
	char *dir;
	char *target;
	struct agent_request request;
	bool ages;
	bool records;
	mode_t mode;
	gid_t gid;
	struct keep_limits keep;
	struct hook_conf hook;
};

/**
 * struct conf - all settings
 * @socket: path
 * @group: group of the socket; NULL: the agent's
 * @metrics: address of the metrics endpoint, or NULL
 * @clients: limit of connections
 * @clients_per_user: limit per user; 0: half of @clients
 * @uids: users who may use the agent. If @uids and @gids are empty, everybody who can
 *	connect may
 * @nr_uids: how many
 * @gids: groups whose members may use the agent
 * @nr_gids: how many
 * @hold: filters whose epochs are ended
 * @sched: limits of the scheduler
 * @cache: limits of the cache
 * @watches: watched directories
 * @nr_watches: how many
 * @clusters: clusters
 * @nr_clusters: how many
 */
struct conf {
	char *socket;
	char *group;
	char *metrics;
	__u64 clients;
	__u64 clients_per_user;
	uid_t uids[CONF_LIST_MAX];
	unsigned int nr_uids;
	gid_t gids[CONF_LIST_MAX];
	unsigned int nr_gids;
	struct hold_conf hold;
	struct sched_conf sched;
	struct cache_conf cache;
	struct conf_watch watches[CONF_WATCHES_MAX];
	unsigned int nr_watches;
	struct cluster_conf clusters[CONF_CLUSTERS_MAX];
	unsigned int nr_clusters;
};

/**
 * conf_load() - set defaults, then read the file, then the command line
 * @c: result; must be freed by conf_free() also after a failure
 * @argc: of the program
 * @argv: of the program
 *
 * --help and --version print and exit.
 *
 * Return: false: an error was printed.
 */
bool conf_load(struct conf *c, int argc, char **argv);
void conf_free(struct conf *c);

/* Find a group by name or number. Return: false: an error was printed. */
bool conf_find_group(const char *what, const char *text, gid_t *gid);

#endif /* EPFAGENT_CONF_H */
