// SPDX-License-Identifier: GPL-2.0
/*
 * usage: page CASE raw|openmetrics|text [ones]
 *
 * Prints the metrics of a simulated device; raw: its numbers, as JSON. ones: with an
 * agent whose n-th number is 2^64 - 1 - n, and a cluster with two other hosts likewise.
 * Exit 1: an error, whose number is on standard error.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics/metrics.h"
#include "fake.h"
#include "libepf/epf.h"

static void fill(void *of, size_t bytes)
{
	__u64 *word = of;
	size_t i;

	for (i = 0; i < bytes / sizeof(*word); i++)
		word[i] = ~(__u64)i;
}

/* A cluster with two other hosts. */
static int clusters_of(void *of, struct stats_cluster **all, struct stats_peer **peers,
		       unsigned int *nr_peers)
{
	const size_t names = 2 * STATS_NAME;
	unsigned int i;

	(void)of;
	*all = calloc(1, sizeof(**all));
	*peers = calloc(2, sizeof(**peers));
	if (!*all || !*peers)
		return -1;
	fill((*all)->cluster + STATS_NAME, sizeof(**all) - STATS_NAME);
	strcpy((*all)->cluster, "edge");
	for (i = 0; i < 2; i++) {
		fill((*peers)[i].cluster + names, sizeof(**peers) - names);
		strcpy((*peers)[i].cluster, "edge");
		snprintf((*peers)[i].host, STATS_NAME, "host%u", i);
	}
	*nr_peers = 2;
	return 1;
}

static const struct agent_stats *stats_of(const char *name)
{
	static struct agent_stats stats;

	if (!name)
		return NULL;
	fill(&stats, offsetof(struct agent_stats, clusters));
	stats.clusters = clusters_of;
	return &stats;
}

static int write_page(const char *format, const struct agent_stats *stats)
{
	int dev = epf_dev_open();
	int err = metrics_write(stdout, strcmp(format, "text") ? METRICS_OPENMETRICS : METRICS_TEXT,
				dev, stats);

	if (dev >= 0)
		close(dev);
	if (err)
		fprintf(stderr, "%d\n", -err);
	if (fake_open_filters())
		fprintf(stderr, "descriptors are left open\n");
	return err || fake_open_filters();
}

int main(int argc, char **argv)
{
	if (argc < 3 || !fake_case(argv[1])) {
		fprintf(stderr, "usage: page CASE raw|openmetrics|text [ones]\n");
		return 2;
	}
	if (strcmp(argv[2], "raw"))
		return write_page(argv[2], stats_of(argv[3]));
	fake_print();
	return 0;
}
