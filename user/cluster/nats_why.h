/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a connection cannot be made, in words for whoever wrote the settings. */
#ifndef CLUSTER_NATS_WHY_H
#define CLUSTER_NATS_WHY_H

#include "cluster/nats.h"

/**
 * nats_why() - name the mistake behind an error of libnats
 * @l: login
 * @url: of the server
 * @text: what libnats says
 *
 * Context: may look up the name in @url.
 *
 * Return: words; "cannot connect" if no mistake is known by that text.
 */
const char *nats_why(const struct cluster_login *l, const char *url, const char *text);

#endif /* CLUSTER_NATS_WHY_H */
