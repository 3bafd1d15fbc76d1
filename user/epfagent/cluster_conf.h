/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The settings of a cluster: a section of the file. Functions return false after printing an
 * error; out_at() says where.
 */
#ifndef EPFAGENT_CLUSTER_CONF_H
#define EPFAGENT_CLUSTER_CONF_H

#include "cluster/live.h"

/* Begin a section, with zeros in @c; set each key of it; then check the whole. @name: of the
 * cluster, as the section has it.
 */
bool cluster_conf_begin(struct cluster_conf *c, const char *name);
bool cluster_conf_set(struct cluster_conf *c, const char *name, const char *value);
bool cluster_conf_end(struct cluster_conf *c);

/* Are these the same settings? */
bool cluster_conf_same(const struct cluster_conf *a, const struct cluster_conf *b);

void cluster_conf_free(struct cluster_conf *c);

#endif /* EPFAGENT_CLUSTER_CONF_H */
