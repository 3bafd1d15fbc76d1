// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See nats_why.h. */
#include "cluster/nats_why.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/secret.h"
#include "common/array.h"
#include "common/clock.h"

static bool nats_why_plain(const struct cluster_login *l, const char *url)
{
	return !l->tls_ca && strncmp(url, "tls:", 4);
}

static bool no_ca(const struct cluster_login *l, const char *url)
{
	(void)url;
	return !l->tls_ca;
}

static bool no_cert(const struct cluster_login *l, const char *url)
{
	(void)url;
	return !l->tls_cert;
}

static bool cert_ended(const struct cluster_login *l, const char *url)
{
	__u64 end = l->tls_cert ? secret_cert_end(l->tls_cert) : 0;

	(void)url;
	return end && end < epf_wall_ns() / NS_PER_SEC;
}

/* The resolver may take minutes: it gets a second. What it does not answer by then stays with it,
 * one question of each thread, and nothing is known meanwhile.
 */
static bool unresolved(const char *name)
{
	static _Thread_local struct gaicb *asked;
	static const struct timespec most = { .tv_sec = 1 };
	int err;

	if (asked && gai_error(asked) == EAI_INPROGRESS)
		return false;
	if (asked)
		freeaddrinfo(asked->ar_result);
	free(asked);
	asked = calloc(1, sizeof(*asked) + strlen(name) + 1);
	if (!asked)
		return false;
	asked->ar_name = strcpy((char *)(asked + 1), name);
	err = getaddrinfo_a(GAI_NOWAIT, &asked, 1, NULL);
	if (err) {
		free(asked);
		asked = NULL;
		return false;
	}
	gai_suspend((const struct gaicb *const *)&asked, 1, &most);
	err = gai_error(asked);
	return err && err != EAI_INPROGRESS;
}

/* Of "tls://HOST:PORT", where the port may be missing and HOST be "[ADDRESS]". */
static bool no_address(const struct cluster_login *l, const char *url)
{
	const char *host = strstr(url, "://");
	char name[256];
	int len;

	(void)l;
	host = host ? host + 3 : url;
	host += *host == '[';
	len = (int)strcspn(host, url[strcspn(url, "[")] ? "]" : ":");
	snprintf(name, sizeof(name), "%.*s", len, host);
	return unresolved(name);
}

/* The first row counts whose text is in that of libnats, and whose condition holds. */
static const struct {
	const char *text;
	bool (*holds)(const struct cluster_login *l, const char *url);
	const char *why;
} rows[] = {
	{ "SSL", nats_why_plain, "the server wants TLS: write tls:// and set tls-ca" },
	{ "SSL", no_ca, "tls-ca is not set: who may sign the server's certificate?" },
	{ "issuer certificate:", NULL, "tls-ca has not signed the server's certificate" },
	{ "self-signed", NULL, "tls-ca has not signed the server's certificate" },
	{ "mismatch:depth", NULL, "the server's certificate has another name than the URL" },
	{ "has expired", NULL, "the server's certificate has ended, by this host's clock" },
	{ "not yet valid", NULL, "the server's certificate begins later, by this host's clock" },
	{ "Authorization Violation", NULL, "no user of the server has this login" },
	{ "No server available", no_address, "the name does not resolve" },
	{ "No server available", NULL, "no server answers there" },
	{ "'PONG'", cert_ended, "the server hung up: the certificate in tls-cert has ended" },
	{ "'PONG'", no_cert, "the server hung up: it may want tls-cert and tls-key" },
	{ "'PONG'", NULL, "the server hung up: it does not take the certificate in tls-cert" },
};

const char *nats_why(const struct cluster_login *l, const char *url, const char *text)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (strstr(text, rows[i].text) && (!rows[i].holds || rows[i].holds(l, url)))
			return rows[i].why;
	return "cannot connect";
}
