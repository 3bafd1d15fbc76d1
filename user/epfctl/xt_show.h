/* SPDX-License-Identifier: GPL-2.0 */
/* Filters that rules of iptables use. */
#ifndef EPFCTL_XT_SHOW_H
#define EPFCTL_XT_SHOW_H

#include <jansson.h>

/**
 * xt_show() - print each with its counters, or append it to @list
 * @list: an array, or NULL
 *
 * Those of this network namespace, where this process may see them.
 */
void xt_show(json_t *list);

#endif /* EPFCTL_XT_SHOW_H */
