// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl rotate, clear: forget earlier. */
#include "cmd.h"

#include <errno.h>
#include <unistd.h>

static int rotate(const char *name, __u32 epochs)
{
	int filter = open_filter(name);
	__u64 epoch;
	int err;

	if (filter < 0)
		return EXIT_FAIL;
	err = epf_filter_rotate(filter, epochs, &epoch);
	epf_close(filter);
	if (err == -EBUSY)
		return fail("a snapshot of '%s' holds back rotation: try again "
			    "when it is complete",
			    name);
	if (err)
		return fail_call(err, "rotating a filter", NULL);
	if (out_mode == OUT_TEXT)
		printf("epoch %llu\n", epoch);
	else
		out_json(json_pack("{sI}", "epoch", (json_int_t)epoch));
	return EXIT_YES;
}

int cmd_rotate(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "count", required_argument, NULL, 'n' },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "rotate NAME [--count N]",
		.help = "  -n, --count N  end N epochs, 1 to 8 (default 1); each shortens the window by a\n"
			"                 seventh\n",
		.shorts = "n:",
		.longs = longs,
	};
	__u64 epochs = 1;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt != 'n' || !parse_count("--count", optarg, EPF_EPOCHS, &epochs))
			return EXIT_FAIL;
	if (!operands(argc, argv, 1, 1, &spec))
		return EXIT_FAIL;
	return rotate(argv[optind], (__u32)epochs);
}

int cmd_clear(int argc, char **argv)
{
	static const struct option longs[] = { { 0 } };
	static const struct spec spec = {
		.usage = "clear NAME",
		.help = "Forget every key. Parameters, hash key and users stay.\n",
		.shorts = "",
		.longs = longs,
	};
	struct epf_info info = { 0 };
	int filter, err;

	if (next_option(argc, argv, &spec) >= 0 || !operands(argc, argv, 1, 1, &spec))
		return EXIT_FAIL;
	filter = open_filter(argv[optind]);
	if (filter < 0)
		return EXIT_FAIL;
	err = epf_filter_clear(filter);
	if (err == -E2BIG || err == -ENOSPC)
		epf_filter_info(filter, &info);
	epf_close(filter);
	/* some kinds need the new memory before the old is freed */
	return err ? fail_limits(err, "clearing a filter", NULL, false, info.memory_bytes) :
		     EXIT_YES;
}
