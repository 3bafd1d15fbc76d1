// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl destroy, swap: operations on whole filters, by name. */
#include "cmd.h"
#include "pin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Is the filter attached, or used by a pinned program? The module counts references
 * itself, but does not know names. Return: true: an error is printed.
 */
static bool swap_attached(int dev, const char *name)
{
	char user[XDP_NAME_BYTES];
	struct epf_info info;
	int filter = epf_dev_filter(dev, name), err;
	bool is;

	if (filter < 0)
		return false;
	err = epf_filter_info(filter, &info);
	is = xdp_uses && (!err || err == -EUCLEAN) &&
	     xdp_uses(info.id, !epf_is_module(filter), user);
	epf_close(filter);
	if (is)
		xdp_uses_tell(name, user);
	return is;
}

static int swap_destroy(const char *name, bool force)
{
	int dev = open_device();
	int err;

	if (dev < 0)
		return EXIT_FAIL;
	if (!force && swap_attached(dev, name)) {
		epf_close(dev);
		return EXIT_FAIL;
	}
	err = epf_dev_destroy(dev, name, force);
	epf_close(dev);
	if (!err && pin_sweep)
		pin_sweep();
	if (err == -EBUSY)
		return fail("'%s' is held by descriptors, mappings, BPF "
			    "programs or iptables rules: end those ('epfctl "
			    "status', 'epfctl detach'), or use --force",
			    name);
	return err ? fail_call(err, "destroying", name) : EXIT_YES;
}

int cmd_destroy(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "force", no_argument, NULL, 'F' },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "destroy NAME [--force]",
		.help = "      --force  remove it even while programs or descriptors hold it; they then\n"
			"               get the answer \"absent\"\n",
		.shorts = "",
		.longs = longs,
	};
	bool force = false;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != 'F')
			return EXIT_FAIL;
		force = true;
	}
	if (!operands(argc, argv, 1, 1, &spec) || !parse_name(argv[optind]))
		return EXIT_FAIL;
	return swap_destroy(argv[optind], force);
}

/* Report which of the two filters does not exist. */
static int swap_missing(int dev, const char *a, const char *b)
{
	int filter = epf_dev_filter(dev, a);

	if (filter >= 0)
		epf_close(filter);
	return fail_call(-ENOENT, "swapping", filter < 0 ? a : b);
}

static int swap_fails(int dev, int err, const char *a, const char *b)
{
	if (err == -ENOENT)
		return swap_missing(dev, a, b);
	if (err == -EOPNOTSUPP && !epf_is_module(dev))
		return fail("'%s' and '%s' cannot be swapped, because one has --align and the "
			    "other --rotate kernel: " EPF_TIMER_NO_CLOCK
			    "; create both with --rotate process",
			    a, b);
	return fail_call(err, "swapping filters", NULL);
}

int cmd_swap(int argc, char **argv)
{
	static const struct option longs[] = { { 0 } };
	static const struct spec spec = {
		.usage = "swap A B",
		.help = "Each filter keeps its name, id and users, and gets the "
			"contents, parameters,\nhash key and statistics of the other.\n",
		.shorts = "",
		.longs = longs,
	};
	const char *a, *b;
	int dev, err;

	if (next_option(argc, argv, &spec) >= 0 || !operands(argc, argv, 2, 2, &spec))
		return EXIT_FAIL;
	a = argv[optind];
	b = argv[optind + 1];
	if (!parse_name(a) || !parse_name(b))
		return EXIT_FAIL;
	if (!strcmp(a, b))
		return fail("'%s' cannot be swapped with itself: name two filters", a);
	dev = open_device();
	if (dev < 0)
		return EXIT_FAIL;
	err = epf_dev_swap(dev, a, b);
	if (err)
		swap_fails(dev, err, a, b);
	epf_close(dev);
	return err ? EXIT_FAIL : EXIT_YES;
}
