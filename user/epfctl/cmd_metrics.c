// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl metrics: print once what the agent's endpoint reports about the filters. */
#include "cmd.h"

#include <string.h>
#include <unistd.h>

#include "metrics/metrics.h"

enum { OPT_TEXT = OPT_LONG };

int cmd_metrics(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "text", no_argument, NULL, OPT_TEXT },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "metrics [--text]",
		.help = "      --text  use the text format 0.0.4, which node_exporter's textfile\n"
			"              collector takes, in place of OpenMetrics\n",
		.shorts = "",
		.longs = longs,
	};
	enum metrics_format format = METRICS_OPENMETRICS;
	int dev, err, opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != OPT_TEXT)
			return EXIT_FAIL;
		format = METRICS_TEXT;
	}
	if (!operands(argc, argv, 0, 0, &spec))
		return EXIT_FAIL;
	if (out_mode != OUT_TEXT)
		return fail("metrics have no JSON: 'epfctl list -j' has the "
			    "same numbers");
	dev = epf_dev_open();
	err = metrics_write(stdout, format, dev, NULL);
	if (dev >= 0)
		epf_close(dev);
	else if (metrics_denied(dev))
		warn("%s: %s: the filters are left out; run as root, or as a "
		     "member of the device's group",
		     EPF_DEVICE, strerror(-dev));
	return err ? fail_call(err, "reading the filters", NULL) : EXIT_YES;
}
