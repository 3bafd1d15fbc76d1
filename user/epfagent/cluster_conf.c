// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings of a cluster. */
#include "epfagent/cluster_conf.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/apply_pool.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/parse.h"

#define LAG_DEFAULT NS_PER_SEC
#define LAG_MIN (NS_PER_SEC / 5) /* two intervals of messages */
#define BUFFER_DEFAULT (64ULL << 20)
#define STREAM_DEFAULT (1ULL << 30)
#define JOURNAL_DEFAULT 17u
#define THREADS_DEFAULT 4u /* at most */
#define BYTES_MIN (1ULL << 20)

/* Settings that are texts, with their places. */
static const struct {
	const char *name;
	size_t at;
} texts[] = {
	{ "subject", offsetof(struct cluster_conf, prefix) },
	{ "tls-ca", offsetof(struct cluster_conf, login.tls_ca) },
	{ "tls-cert", offsetof(struct cluster_conf, login.tls_cert) },
	{ "tls-key", offsetof(struct cluster_conf, login.tls_key) },
	{ "nkey", offsetof(struct cluster_conf, login.nkey) },
	{ "credentials", offsetof(struct cluster_conf, login.credentials) },
	{ "password", offsetof(struct cluster_conf, login.password) },
};

static char **text_at(const struct cluster_conf *c, size_t i)
{
	return (char **)(void *)((const char *)c + texts[i].at);
}

/* Append the words of @value to a list. */
static bool add_words(char **list, unsigned int *nr, unsigned int most, const char *what,
		      const char *value)
{
	size_t len;

	for (value += strspn(value, " \t"); *value; value += strspn(value, " \t")) {
		len = strcspn(value, " \t");
		if (*nr == most) {
			fail("%s: at most %u", what, most);
			return false;
		}
		list[*nr] = strndup(value, len);
		if (!list[*nr]) {
			fail("out of memory");
			return false;
		}
		++*nr;
		value += len;
	}
	return true;
}

static bool set_server(struct cluster_conf *c, const char *what, const char *value)
{
	/* the value is not printed: it may hold a password */
	if (strchr(value, '@')) {
		fail("%s: a URL holds no login: use 'password' or 'nkey', whose files nobody else reads",
		     what);
		return false;
	}
	return add_words(c->login.servers, &c->login.nr_servers, CLUSTER_SERVERS_MAX, what, value);
}

static bool set_roster(struct cluster_conf *c, const char *what, const char *value)
{
	return add_words(c->roster, &c->nr_roster, CLUSTER_ROSTER_MAX, what, value);
}

static bool host_ok(const char *what, const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789-_");

	if (len && len < CLUSTER_HOST_BYTES && !name[len])
		return true;
	fail("%s: host '%s': use 1 to %u letters, digits, '-' and '_'", what, name,
	     CLUSTER_HOST_BYTES - 1);
	return false;
}

static bool set_host(struct cluster_conf *c, const char *what, const char *value)
{
	snprintf(c->host, sizeof(c->host), "%s", value);
	return host_ok(what, value);
}

static bool set_local(struct cluster_conf *c, const char *what, const char *value)
{
	(void)what; /* the error names the value */
	snprintf(c->local, sizeof(c->local), "%s", value);
	return parse_name(value);
}

static bool set_all(struct cluster_conf *c, const char *what, const char *value)
{
	(void)what; /* likewise */
	snprintf(c->all, sizeof(c->all), "%s", value);
	return parse_name(value);
}

static bool set_lag(struct cluster_conf *c, const char *what, const char *value)
{
	if (!parse_ns(what, value, &c->lag_ns))
		return false;
	if (c->lag_ns >= LAG_MIN)
		return true;
	fail("%s: at least 200ms, since messages come each 100ms", what);
	return false;
}

static bool set_rate(struct cluster_conf *c, const char *what, const char *value)
{
	return parse_count(what, value, 1ULL << 40, &c->peer_rate);
}

static bool set_size(__u64 *bytes, const char *what, const char *value)
{
	if (!parse_bytes(what, value, bytes))
		return false;
	if (*bytes >= BYTES_MIN && *bytes < 1ULL << 62)
		return true;
	fail("%s: at least 1MiB", what);
	return false;
}

static bool set_buffer(struct cluster_conf *c, const char *what, const char *value)
{
	return set_size(&c->buffer, what, value);
}

static bool set_stream(struct cluster_conf *c, const char *what, const char *value)
{
	return set_size(&c->stream_bytes, what, value);
}

static bool set_journal(struct cluster_conf *c, const char *what, const char *value)
{
	__u64 order;

	if (!parse_count(what, value, EPF_JOURNAL_ORDER_MAX, &order))
		return false;
	c->order = (__u32)order;
	return true;
}

static bool cluster_conf_set_threads(struct cluster_conf *c, const char *what, const char *value)
{
	__u64 threads;

	if (!parse_count(what, value, APPLY_THREADS_MAX, &threads))
		return false;
	c->threads = (unsigned int)threads;
	return true;
}

/* As many as there are CPUs for this process, within a limit. */
static unsigned int threads_default(void)
{
	cpu_set_t cpus;
	unsigned int nr = 1;

	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		nr = (unsigned int)CPU_COUNT(&cpus);
	return nr < THREADS_DEFAULT ? nr : THREADS_DEFAULT;
}

static const struct {
	const char *name;
	bool (*set)(struct cluster_conf *c, const char *what, const char *value);
} values[] = {
	{ "server", set_server },
	{ "host", set_host },
	{ "roster", set_roster },
	{ "filter", set_local },
	{ "all", set_all },
	{ "lag", set_lag },
	{ "peer-rate", set_rate },
	{ "buffer", set_buffer },
	{ "stream-bytes", set_stream },
	{ "journal", set_journal },
	{ "threads", cluster_conf_set_threads },
};

bool cluster_conf_begin(struct cluster_conf *c, const char *name)
{
	char host[CLUSTER_HOST_BYTES] = "";

	c->lag_ns = LAG_DEFAULT;
	c->buffer = BUFFER_DEFAULT;
	c->stream_bytes = STREAM_DEFAULT;
	c->order = JOURNAL_DEFAULT;
	c->threads = threads_default();
	gethostname(host, sizeof(host) - 1);
	snprintf(c->host, sizeof(c->host), "%.*s", (int)strcspn(host, "."), host);
	snprintf(c->name, sizeof(c->name), "%s", name);
	/* a token of a subject, and the name of a map */
	if (!host_ok("cluster", name))
		return false;
	if (strlen(name) < sizeof(c->name))
		return true;
	fail("[cluster %s]: a name has at most %zu letters", name, sizeof(c->name) - 1);
	return false;
}

bool cluster_conf_set(struct cluster_conf *c, const char *name, const char *value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (!strcmp(name, values[i].name))
			return values[i].set(c, name, value);
	for (i = 0; i < ARRAY_SIZE(texts) && strcmp(name, texts[i].name); i++)
		;
	if (i == ARRAY_SIZE(texts) || !*value || *text_at(c, i)) {
		fail("%s '%s'%s", i == ARRAY_SIZE(texts) ? "unknown key" : "key", name,
		     i == ARRAY_SIZE(texts) ? "" :
		     *value                 ? " is given twice" :
					      " is empty");
		return false;
	}
	*text_at(c, i) = strdup(value);
	if (!*text_at(c, i))
		fail("out of memory");
	return *text_at(c, i);
}

static bool roster_has(const struct cluster_conf *c, unsigned int nr, const char *host)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(c->roster[i], host))
			return true;
	return false;
}

static bool check_roster(const struct cluster_conf *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_roster; i++) {
		if (!host_ok("roster", c->roster[i]))
			return false;
		if (!roster_has(c, i, c->roster[i]))
			continue;
		fail("host '%s' is in the roster twice", c->roster[i]);
		return false;
	}
	if (!host_ok("host", c->host))
		return false;
	if (c->nr_roster > 1 && roster_has(c, c->nr_roster, c->host))
		return true;
	fail("'roster' must name all hosts, and this one, '%s', among them", c->host);
	return false;
}

static bool is_local(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return !strncmp(host, "127.", 4) || !strncmp(host, "[::1]", 5) ||
	       (!strncmp(host, "localhost", 9) && (!host[9] || host[9] == ':'));
}

/* Would the login cross a network as it is? */
static bool is_clear(const struct cluster_login *l)
{
	unsigned int i;

	for (i = 0; i < l->nr_servers; i++)
		if (!l->tls_ca && strncmp(l->servers[i], "tls:", 4) && !is_local(l->servers[i]))
			return true;
	return false;
}

static bool check_login(const struct cluster_login *l)
{
	if (!l->tls_cert != !l->tls_key || (l->tls_cert && !l->tls_ca)) {
		fail("'tls-cert' and 'tls-key' go together, and with 'tls-ca'");
		return false;
	}
	if (!!l->nkey + !!l->credentials + !!l->password > 1) {
		fail("use one of 'nkey', 'credentials' and 'password'");
		return false;
	}
	if (l->password && is_clear(l)) {
		fail("'password' would cross the network in clear: use tls:// and 'tls-ca'");
		return false;
	}
	return true;
}

bool cluster_conf_end(struct cluster_conf *c)
{
	char prefix[80];

	if (!c->login.nr_servers || !c->nr_roster || !c->local[0] || !c->all[0]) {
		fail("a cluster needs 'server', 'roster', 'filter' and 'all'");
		return false;
	}
	snprintf(prefix, sizeof(prefix), "epf.%s", c->name);
	if (!c->prefix)
		c->prefix = strdup(prefix);
	if (!c->prefix) {
		fail("out of memory");
		return false;
	}
	return check_roster(c) && check_login(&c->login);
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_list(char *const *a, unsigned int nr_a, char *const *b, unsigned int nr_b)
{
	unsigned int i;

	if (nr_a != nr_b)
		return false;
	for (i = 0; i < nr_a; i++)
		if (strcmp(a[i], b[i]))
			return false;
	return true;
}

bool cluster_conf_same(const struct cluster_conf *a, const struct cluster_conf *b)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (!same_text(*text_at(a, i), *text_at(b, i)))
			return false;
	return !strcmp(a->name, b->name) && !strcmp(a->host, b->host) &&
	       !strcmp(a->local, b->local) && !strcmp(a->all, b->all) && a->lag_ns == b->lag_ns &&
	       a->peer_rate == b->peer_rate && a->buffer == b->buffer &&
	       a->stream_bytes == b->stream_bytes && a->order == b->order &&
	       a->threads == b->threads &&
	       same_list(a->roster, a->nr_roster, b->roster, b->nr_roster) &&
	       same_list(a->login.servers, a->login.nr_servers, b->login.servers,
			 b->login.nr_servers);
}

void cluster_conf_free(struct cluster_conf *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		free(*text_at(c, i));
	while (c->nr_roster)
		free(c->roster[--c->nr_roster]);
	while (c->login.nr_servers)
		free(c->login.servers[--c->login.nr_servers]);
	memset(c, 0, sizeof(*c));
}
