/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metrics of filters and of the agent as OpenMetrics text.
 *
 * The number of series is bounded: see METRICS_*. The module bounds the number of
 * filters (parameter max_filters, 1,024 by default). Labels contain names of filters
 * but nothing of their keys.
 *
 * Samples of pure BPF filters have the label backend="bpf".
 *
 * Counters are those of the module: EPF_IOC_CLEAR resets those of EPF_KIND_TLBF and
 * EPF_KIND_CHAIN, and EPF_IOC_SWAP exchanges those of two filters.
 */
#ifndef EPFAGENT_METRICS_H
#define EPFAGENT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "metrics/stats.h"

enum metrics_format {
	METRICS_OPENMETRICS, /* 1.0.0 */
	METRICS_TEXT,        /* the older text format, 0.0.4 */
};

/* Limits of the series of one filter, including its epochs, and of all others. */
#define METRICS_OF_FILTER 33
#define METRICS_OTHERS 22
/* Of a cluster, and of each other host in it. */
#define METRICS_OF_CLUSTER 8
#define METRICS_OF_PEER 7

/**
 * metrics_write() - write all metrics
 * @out: output; the caller checks it for errors
 * @format: text format
 * @dev: result of epf_dev_open(). An error that means that the device does not exist
 *	(up 0) or that this user may not open it (up 1, readable 0) is written as such
 * @stats: live counters of the agent; NULL: none
 *
 * A filter that is destroyed meanwhile is left out. Each filter is held only while its
 * numbers are read.
 *
 * Context: any thread; keeps no state.
 * Return: 0; a negative errno, including any other error in @dev: not all filters could
 * be read, and nothing was written.
 */
int metrics_write(FILE *out, enum metrics_format format, int dev, const struct agent_stats *stats);

/* Does the device exist, but may this user not open it? @dev: as above. */
bool metrics_denied(int dev);

#endif /* EPFAGENT_METRICS_H */
