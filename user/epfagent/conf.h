/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings of epfagent: lines "key = value" of a file, and "--key value" of the
 * command line, which are stronger. Errors are printed, one line.
 */
#ifndef EPFAGENT_CONF_H
#define EPFAGENT_CONF_H

#include <stdbool.h>
#include <sys/types.h>

#include "audit/agent.h"
#include "epfagent/hold.h"
#include "epfagent/sched.h"
#include "epfagent/warm.h"

#define CONF_FILE "/etc/epochfilter/agent.conf"
#define CONF_LIST_MAX 32
#define CONF_WATCHES_MAX 16

/**
 * struct conf_watch - a directory
 * @dir: path
 * @target: filter, or the path of a snapshot where there is a '/' in it
 * @request: what is asked of each file; without descriptors
 * @ages: FILE.ages is wanted too
 * @records: FILE.records too: those present
 * @mode: permissions of results
 * @gid: their group; -1: the agent's, or that of a directory with setgid
 */
struct conf_watch {
	char *dir;
	char *target;
	struct agent_request request;
	bool ages;
	bool records;
	mode_t mode;
	gid_t gid;
};

/**
 * struct conf - all of it
 * @socket: path
 * @group: of the socket, or NULL: the agent's
 * @metrics: where to listen, or NULL
 * @clients: connections, in all
 * @clients_per_user: of one user
 * @uids: that may ask; with @gids: if both are empty, whom the socket lets in
 * @nr_uids: how many
 * @gids: of which any of a client's groups is one
 * @nr_gids: how many
 * @hold: whose epochs are ended
 * @sched: limits
 * @warm: limits
 * @watches: directories
 * @nr_watches: how many
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
	struct warm_conf warm;
	struct conf_watch watches[CONF_WATCHES_MAX];
	unsigned int nr_watches;
};

/**
 * conf_load() - defaults, then the file, then the command line
 * @c: result, to be given back by conf_free() also after a failure
 * @argc: of the program
 * @argv: of the program
 *
 * --help and --version print and exit.
 *
 * Return: false: an error is printed.
 */
bool conf_load(struct conf *c, int argc, char **argv);
void conf_free(struct conf *c);

/* A group by name or number. Return: false: an error is printed. */
bool conf_find_group(const char *what, const char *text, gid_t *gid);

#endif /* EPFAGENT_CONF_H */
