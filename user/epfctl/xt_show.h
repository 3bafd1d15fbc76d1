/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Filters that iptables rules use. */
#ifndef EPFCTL_XT_SHOW_H
#define EPFCTL_XT_SHOW_H

#include <jansson.h>

/**
 * xt_show() - print each filter with its counters, or append it to @list
 * @list: an array, or NULL
 *
 * Shows the filters of this network namespace that this process may see.
 */
void xt_show(json_t *list);

#endif /* EPFCTL_XT_SHOW_H */
