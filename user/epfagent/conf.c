// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings: one table for the configuration file and the command line. */
#include "epfagent/conf.h"

#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epfagent/cluster_conf.h"
#include "epfagent/watch_conf.h"
#include "common/array.h"
#include "common/conffile.h"
#include "common/error.h"
#include "common/parse.h"

#define FRESH_DEFAULT_NS 0
#define MEMORY_DEFAULT (1ULL << 30)
#define STEP_DEFAULT (4ULL << 20)

/**
 * struct setting - one key
 * @name: name in the file and of the option
 * @help: text for --help
 * @set: parses the value of @what, the key or the option; returns false after printing an
 *	error, whose place out_at() has. NULL: the value is a text
 * @text: offset of the text in struct conf
 */
struct setting {
	const char *name;
	const char *help;
	bool (*set)(struct conf *c, const char *what, const char *text);
	size_t text;
};

static bool set_text(char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	if (!*to)
		fail("out of memory");
	return *to;
}

static bool set_memory(struct conf *c, const char *what, const char *text)
{
	return parse_bytes(what, text, &c->cache.bytes);
}

static bool set_fresh(struct conf *c, const char *what, const char *text)
{
	if (strcmp(text, "0"))
		return parse_ns(what, text, &c->cache.fresh_ns);
	c->cache.fresh_ns = 0;
	return true;
}

/* NAME[:ORDER] */
static bool set_mirror(struct conf *c, const char *what, const char *text)
{
	struct mirrors_conf *all = &c->cache.mirrors;
	struct mirror_conf *m = &all->mirror[all->nr];
	char name[EPF_NAME_LEN + 1];
	size_t len = strcspn(text, ":");
	__u64 order = MIRROR_ORDER;

	if (all->nr == MIRRORS_MAX) {
		fail("%s: at most %d", what, MIRRORS_MAX);
		return false;
	}
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	if (!parse_name(name) ||
	    (text[len] && !parse_count(what, text + len + 1, EPF_JOURNAL_ORDER_MAX, &order)))
		return false;
	strcpy(m->name, name); /* parse_name() checked the length */
	m->order = (__u32)order;
	all->nr++;
	return true;
}

static bool set_hold(struct conf *c, const char *what, const char *text)
{
	struct hold_conf *h = &c->hold;
	bool all = !strcmp(text, "yes");

	if (all || !strcmp(text, "no")) {
		memset(h, 0, sizeof(*h));
		h->which = all ? HOLD_ALL : HOLD_NONE;
		return true;
	}
	if (h->nr == HOLD_NAMES_MAX) {
		fail("%s: at most %d", what, HOLD_NAMES_MAX);
		return false;
	}
	if (!parse_name(text))
		return false;
	h->which = HOLD_NAMED;
	strcpy(h->name[h->nr++], text); /* parse_name() checked the length */
	return true;
}

static bool set_jobs(struct conf *c, const char *what, const char *text)
{
	__u64 n;

	if (!parse_count(what, text, 65536, &n))
		return false;
	c->sched.jobs = (unsigned int)n;
	return true;
}

static bool set_jobs_per_user(struct conf *c, const char *what, const char *text)
{
	__u64 n;

	if (!parse_count(what, text, 65536, &n))
		return false;
	c->sched.jobs_per_user = (unsigned int)n;
	return true;
}

static bool set_clients(struct conf *c, const char *what, const char *text)
{
	return parse_count(what, text, 4096, &c->clients);
}

static bool set_clients_per_user(struct conf *c, const char *what, const char *text)
{
	return parse_count(what, text, 4096, &c->clients_per_user);
}

static bool set_step(struct conf *c, const char *what, const char *text)
{
	return parse_count(what, text, 1ULL << 40, &c->sched.step_keys);
}

static bool conf_set_threads(struct conf *c, const char *what, const char *text)
{
	__u64 n;

	if (!parse_count(what, text, EPF_AUDIT_THREADS_MAX, &n))
		return false;
	c->sched.threads = c->cache.threads = (unsigned int)n;
	return true;
}

/* A decimal number of 32 bits. */
static bool id_number(const char *text, unsigned int *id)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*id = (unsigned int)n;
	return *text >= '0' && *text <= '9' && !*end && n < 0xffffffff;
}

static bool set_allow_uid(struct conf *c, const char *what, const char *text)
{
	const struct passwd *pw = getpwnam(text);
	unsigned int id = pw ? pw->pw_uid : 0;

	if (!pw && !id_number(text, &id)) {
		fail("%s '%s': there is no such user", what, text);
		return false;
	}
	if (c->nr_uids == CONF_LIST_MAX) {
		fail("%s: at most %d", what, CONF_LIST_MAX);
		return false;
	}
	c->uids[c->nr_uids++] = id;
	return true;
}

bool conf_find_group(const char *what, const char *text, gid_t *gid)
{
	const struct group *gr = getgrnam(text);
	unsigned int id = gr ? gr->gr_gid : 0;

	if (!gr && !id_number(text, &id)) {
		fail("%s '%s': there is no such group", what, text);
		return false;
	}
	*gid = id;
	return true;
}

static bool set_allow_gid(struct conf *c, const char *what, const char *text)
{
	gid_t gid;

	if (!conf_find_group(what, text, &gid))
		return false;
	if (c->nr_gids == CONF_LIST_MAX) {
		fail("%s: at most %d", what, CONF_LIST_MAX);
		return false;
	}
	c->gids[c->nr_gids++] = gid;
	return true;
}

static bool set_watch(struct conf *c, const char *what, const char *text)
{
	if (c->nr_watches == CONF_WATCHES_MAX) {
		fail("%s: at most %d", what, CONF_WATCHES_MAX);
		return false;
	}
	return watch_conf_parse(&c->watches[c->nr_watches++], what, text);
}

static const struct setting settings[] = {
	{ "socket", "PATH of the listening socket (" AGENT_SOCKET ")", NULL,
	  offsetof(struct conf, socket) },
	{ "group", "GROUP of the socket, whose mode is 0660", NULL, offsetof(struct conf, group) },
	{ "allow-uid", "USER who may use the agent; repeatable", set_allow_uid, 0 },
	{ "allow-gid", "GROUP whose members may use it; repeatable", set_allow_gid, 0 },
	{ "memory", "BYTES of cached copies, at most (1GiB)", set_memory, 0 },
	{ "fresh", "DURATION for which a copy of a filter is reused (0)", set_fresh, 0 },
	{ "mirror", "NAME[:ORDER] of a filter to mirror; repeatable", set_mirror, 0 },
	{ "hold", "yes|no|NAME: end the epochs of pure BPF filters (yes)", set_hold, 0 },
	{ "jobs", "N audits waiting or running, at most (256)", set_jobs, 0 },
	{ "jobs-per-user", "N of them of one user, at most (32)", set_jobs_per_user, 0 },
	{ "clients", "N connections, at most (128)", set_clients, 0 },
	{ "clients-per-user", "N of them of one user, at most (half)", set_clients_per_user, 0 },
	{ "step", "KEYS looked up in one turn, about (4194304)", set_step, 0 },
	{ "threads", "N threads of an audit, at most (all CPUs)", conf_set_threads, 0 },
	{ "watch", "DIR=FILTER[:OPTIONS]: audit new files; '\\' escapes", set_watch, 0 },
	{ "metrics", "ADDRESS to serve GET /metrics at", NULL, offsetof(struct conf, metrics) },
};

#define NR_SETTINGS ARRAY_SIZE(settings)

static bool set(struct conf *c, const struct setting *s, const char *what, const char *text)
{
	if (s->set)
		return s->set(c, what, text);
	return set_text((char **)((char *)c + s->text), text);
}

static void conf_defaults(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	c->clients = 128;
	c->sched.jobs = 256;
	c->sched.jobs_per_user = 32;
	c->sched.step_keys = STEP_DEFAULT;
	c->cache.bytes = MEMORY_DEFAULT;
	c->cache.fresh_ns = FRESH_DEFAULT_NS;
}

/* The file */

enum section { SECTION_NONE, SECTION_WATCH, SECTION_CLUSTER };

/**
 * struct reading - the file
 * @c: settings
 * @nr: number of the section
 * @type: its type
 * @header: where it begins
 * @seen: its keys, each between blanks
 */
struct reading {
	struct conf *c;
	unsigned int nr;
	enum section type;
	char header[PATH_MAX + 16];
	char seen[1024];
};

/* Is the key there already, and not one that may be repeated? */
static bool is_again(const struct reading *r, const char *name)
{
	static const char many[] = " allow-uid allow-gid mirror hold watch server roster ";
	char word[64];

	snprintf(word, sizeof(word), " %.60s ", name);
	if (!strstr(r->seen, word) || strstr(many, word))
		return false;
	fail("key '%s' is given twice", name);
	return true;
}

static void note_key(struct reading *r, const char *name)
{
	size_t at = strlen(r->seen);

	snprintf(r->seen + at, sizeof(r->seen) - at, "%s%s ", at ? "" : " ", name);
}

static bool conf_set_key(struct conf *c, const struct conf_line *line)
{
	size_t i;

	for (i = 0; i < NR_SETTINGS; i++)
		if (!strcmp(line->name, settings[i].name))
			return set(c, &settings[i], line->name, line->value);
	fail("unknown key '%s'", line->name);
	return false;
}

static struct conf_watch *last_watch(struct conf *c)
{
	return &c->watches[c->nr_watches - 1];
}

static struct cluster_conf *last_cluster(struct conf *c)
{
	return &c->clusters[c->nr_clusters - 1];
}

/* The section that was read last is complete. */
static bool end_section(const struct reading *r)
{
	out_at(r->header);
	if (r->type == SECTION_WATCH)
		return watch_conf_end(last_watch(r->c));
	return r->type == SECTION_NONE || cluster_conf_end(last_cluster(r->c));
}

/* Return: false: there is such a section already; an error was printed. */
static bool section_new(const struct conf *c, const struct conf_line *line)
{
	bool there = false;
	unsigned int i;

	for (i = 0; i < c->nr_watches; i++)
		there |= c->watches[i].section && !strcmp(c->watches[i].section, line->section);
	for (i = 0; i < c->nr_clusters; i++)
		there |= !strncmp(line->section, "cluster ", 8) &&
			 !strcmp(c->clusters[i].name, line->section + 8);
	if (there)
		fail("there is a section [%s] already", line->section);
	return !there;
}

static bool begin_watch(struct reading *r, const struct conf_line *line)
{
	struct conf *c = r->c;

	if (c->nr_watches == CONF_WATCHES_MAX) {
		fail("at most %d watched directories", CONF_WATCHES_MAX);
		return false;
	}
	r->type = SECTION_WATCH;
	return watch_conf_begin(&c->watches[c->nr_watches++], line->section);
}

static bool begin_cluster(struct reading *r, const struct conf_line *line)
{
	struct conf *c = r->c;

	if (c->nr_clusters == CONF_CLUSTERS_MAX) {
		fail("at most %d clusters", CONF_CLUSTERS_MAX);
		return false;
	}
	r->type = SECTION_CLUSTER;
	return cluster_conf_begin(&c->clusters[c->nr_clusters++], line->section + 8);
}

static bool begin_section(struct reading *r, const struct conf_line *line)
{
	if (!end_section(r))
		return false;
	r->type = SECTION_NONE;
	r->seen[0] = '\0';
	out_at(line->header);
	if (!section_new(r->c, line))
		return false;
	r->nr = line->nr;
	snprintf(r->header, sizeof(r->header), "%s", line->header);
	if (!strncmp(line->section, "watch ", 6))
		return begin_watch(r, line);
	if (!strncmp(line->section, "cluster ", 8))
		return begin_cluster(r, line);
	fail("unknown section [%s]: use [watch NAME] or [cluster NAME]", line->section);
	return false;
}

static bool take_setting(struct reading *r, const struct conf_line *line)
{
	if (line->nr != r->nr && !begin_section(r, line))
		return false;
	out_at(line->where);
	if (is_again(r, line->name))
		return false;
	note_key(r, line->name);
	if (!line->nr)
		return conf_set_key(r->c, line);
	if (r->type == SECTION_CLUSTER)
		return cluster_conf_set(last_cluster(r->c), line->name, line->value);
	return watch_conf_set(last_watch(r->c), line->name, line->value);
}

/* Whatever fails on behalf of a line has its place from here, and says nothing of it. */
static bool conf_take_line(void *ctx, const struct conf_line *line)
{
	bool good = take_setting(ctx, line);

	out_at(NULL);
	return good;
}

static bool conf_read_file(struct conf *c, const char *path, bool must)
{
	struct reading r = { .c = c };
	bool good = conffile_read(path, must, conf_take_line, &r) && end_section(&r);

	out_at(NULL);
	return good;
}

/* The command line */

#define OPT_SETTING 256

static void usage(void)
{
	size_t i;

	printf("usage: epfagent [options]\n"
	       "Runs audits for its clients, in the foreground.\n"
	       "\noptions, also keys of the configuration file ('key = value'):\n");
	for (i = 0; i < NR_SETTINGS; i++)
		printf("  --%-17s %s\n", settings[i].name, settings[i].help);
	printf("\noptions:\n"
	       "  -c, --config FILE   configuration file (%s)\n"
	       "  -h, --help          this help\n"
	       "  -V, --version       version\n"
	       "\nSIGHUP reloads the file, SIGTERM ends the agent. See "
	       "epfagent(8).\n",
	       CONF_FILE);
}

static void fill_table(struct option *o)
{
	static const struct option common[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	size_t i;

	for (i = 0; i < NR_SETTINGS; i++)
		o[i] = (struct option){ settings[i].name, required_argument, NULL,
					OPT_SETTING + (int)i };
	memcpy(o + NR_SETTINGS, common, sizeof(common));
}

/* With @path, read only the name of the file; without, all settings. */
static bool read_options(struct conf *c, int argc, char **argv, const char **path)
{
	struct option table[NR_SETTINGS + 4];
	char what[64];
	int opt;

	fill_table(table);
	opterr = 0;
	optind = 0; /* GNU getopt restarts from the beginning */
	while ((opt = getopt_long(argc, argv, "c:hV", table, NULL)) >= 0) {
		if (opt == 'h' || opt == 'V') {
			if (opt == 'h')
				usage();
			else
				printf("epfagent %s\n", EPF_VERSION);
			exit(0);
		}
		if (opt == '?') {
			fail("option '%s': unknown, or its value is missing: "
			     "'epfagent --help' lists them",
			     argv[optind - 1]);
			return false;
		}
		if (opt == 'c' && path)
			*path = optarg;
		if (opt < OPT_SETTING || path)
			continue;
		snprintf(what, sizeof(what), "--%s", settings[opt - OPT_SETTING].name);
		if (!set(c, &settings[opt - OPT_SETTING], what, optarg))
			return false;
	}
	if (optind == argc)
		return true;
	fail("'%s': epfagent takes options only", argv[optind]);
	return false;
}

bool conf_load(struct conf *c, int argc, char **argv)
{
	const char *path = NULL;

	conf_defaults(c);
	return read_options(c, argc, argv, &path) &&
	       conf_read_file(c, path ? path : CONF_FILE, path) &&
	       read_options(c, argc, argv, NULL) &&
	       (c->socket || set_text(&c->socket, AGENT_SOCKET));
}

void conf_free(struct conf *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_watches; i++)
		watch_conf_free(&c->watches[i]);
	for (i = 0; i < c->nr_clusters; i++)
		cluster_conf_free(&c->clusters[i]);
	free(c->socket);
	free(c->group);
	free(c->metrics);
	memset(c, 0, sizeof(*c));
}
