/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The filters of the kernel, and the agent, as OpenMetrics text.
 *
 * The number of series is bounded: see METRICS_*. The number of filters is
 * bounded by the module (1,024 unless its parameter max_filters says otherwise),
 * labels have the names of filters and nothing of their keys.
 *
 * Samples of filters that are pure BPF have the label backend="bpf".
 *
 * Counters are the module's own: those of EPF_KIND_TLBF and EPF_KIND_CHAIN
 * begin again with EPF_IOC_CLEAR, and EPF_IOC_SWAP exchanges those of two
 * filters.
 */
#ifndef EPFAGENT_METRICS_H
#define EPFAGENT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "epfagent/stats.h"

enum metrics_format {
	METRICS_OPENMETRICS, /* 1.0.0 */
	METRICS_TEXT,	     /* the older text format, 0.0.4 */
};

/* Series of one filter at most, those of its epochs too; and all else. */
#define METRICS_OF_FILTER 33
#define METRICS_OTHERS 22

/**
 * metrics_write() - all there is to tell
 * @out: where to; its errors are for the caller to look for
 * @format: which text
 * @dev: what epf_dev_open() gave; an error that means that the device is not
 *	there (up 0), or not for this user (up 1, readable 0), is told
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

/* Is the device there, but not for this user? @dev: as above. */
bool metrics_denied(int dev);

#endif /* EPFAGENT_METRICS_H */
