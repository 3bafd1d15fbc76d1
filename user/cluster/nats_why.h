/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a connection cannot be made, in words for whoever wrote the settings. */
#ifndef CLUSTER_NATS_WHY_H
#define CLUSTER_NATS_WHY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cluster/nats.h"

/**
 * nats_why() - name the mistake behind an error of libnats
 * @l: login
 * @url: of the server
 * @text: what libnats says
 *
 * Context: may wait for the resolver to look up the name in @url, a second at most.
 *
 * Return: words; "cannot connect" if no mistake is known by that text.
 */
const char *nats_why(const struct cluster_login *l, const char *url, const char *text);

/* Can the name in a certificate be evaded (CVE-2026-33248) with this nats-server?
 * @info: what it tells of a stream; from 2.11 on its version is there
 */
static inline bool nats_evadable(const char *info)
{
	static const char key[] = "\"_nats.ver\":\"";
	const char *at = strstr(info, key);
	unsigned int major, minor, patch;

	if (!strstr(info, "\"config\":"))
		return false; /* an error */
	if (!at || sscanf(at + strlen(key), "%u.%u.%u", &major, &minor, &patch) != 3)
		return true;
	if (major != 2 || minor > 12)
		return major < 2;
	return minor == 12 ? patch < 6 : minor < 11 || patch < 15;
}

#endif /* CLUSTER_NATS_WHY_H */
