/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The filters of the kernel, and the agent, as OpenMetrics text.
 *
 * A filter makes 24 series at most, and one for each of EPF_EPOCHS epochs; all
 * else together 20. The number of filters is bounded by the module (1,024
 * unless its parameter max_filters says otherwise), labels have the names of
 * filters and nothing of their keys.
 *
 * Counters are the module's own: those of EPF_KIND_TLBF and EPF_KIND_CHAIN
 * begin again with EPF_IOC_CLEAR, and EPF_IOC_SWAP exchanges those of two
 * filters.
 */
#ifndef EPFAGENT_METRICS_H
#define EPFAGENT_METRICS_H

#include <stddef.h>
#include <stdio.h>

#include "epfagent/stats.h"

enum metrics_format {
	METRICS_OPENMETRICS, /* 1.0.0 */
	METRICS_TEXT,	     /* the older text format, 0.0.4 */
};

/**
 * metrics_write() - all there is to tell
 * @out: where to; its errors are for the caller to look for
 * @format: which text
 * @dev: what epf_dev_open() gave; where that is an error that means that the
 *	device is not there, or not for this user, this is told
 * @stats: of the agent, live; or NULL: none
 *
 * A filter that is destroyed meanwhile is left out; none is held any longer
 * than it takes to read its numbers.
 *
 * Context: any thread; no state is kept.
 * Return: 0; a negative errno, also another one of @dev, if the filters could
 * not all be read: nothing is written then.
 */
int metrics_write(FILE *out, enum metrics_format format, int dev,
		  const struct agent_stats *stats);

#endif /* EPFAGENT_METRICS_H */
