// SPDX-License-Identifier: GPL-2.0
/*
 * usage: page CASE raw|openmetrics|text [ones]
 *
 * Prints the metrics of a simulated device; raw: its numbers, as JSON. ones: with an
 * agent whose n-th number is 2^64 - 1 - n. Exit 1: an error, whose number is on
 * standard error.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "metrics/metrics.h"
#include "fake.h"
#include "libepf/epf.h"

static const struct agent_stats *stats_of(const char *name)
{
	static struct agent_stats stats;
	__u64 *word = (__u64 *)&stats;
	size_t i;

	if (!name)
		return NULL;
	for (i = 0; i < sizeof(stats) / sizeof(*word); i++)
		word[i] = ~(__u64)i;
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
