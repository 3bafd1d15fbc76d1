// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl insert: insert keys into a filter. */
#include "cmd.h"

#include <stdint.h>
#include <unistd.h>

/**
 * struct insertion - a running insertion
 * @name: of the filter
 * @filter: descriptor; negative until the first batch, so that invalid keys are
 *	reported first
 * @cmd: EPF_IOC_INSERT; EPF_IOC_TEST_AND_INSERT if the filter inserts only absent keys,
 *	which EPF_IOC_INSERT does not check
 * @digests: the keys are digests
 * @done: number of keys
 * @present: of these; 0 with EPF_IOC_INSERT
 */
struct insertion {
	const char *name;
	int filter;
	unsigned long cmd;
	bool digests;
	__u64 done;
	__u64 present;
	struct meter meter;
};

static bool insert_open(struct insertion *ins)
{
	struct epf_info info;
	int err;

	if (ins->filter >= 0)
		return true;
	ins->filter = open_filter(ins->name);
	if (ins->filter < 0)
		return false;
	err = epf_filter_info(ins->filter, &info);
	if (err)
		fail_call(err, "inserting keys", NULL);
	else
		keys_describe(ins->filter, ins->name, &info, ins->digests);
	ins->cmd = info.params.refresh == EPF_FIRST_SEEN ? EPF_IOC_TEST_AND_INSERT : EPF_IOC_INSERT;
	return !err;
}

static int insert_batch(void *ctx, const struct keys *keys)
{
	struct insertion *ins = ctx;
	struct epf_batch b = {
		.flags = keys->digests ? EPF_BATCH_DIGESTS : 0,
		.count = keys->count,
		.keys = (__u64)(uintptr_t)keys->bytes,
		.lens = keys->digests ? 0 : (__u64)(uintptr_t)keys->lens,
	};
	int err;

	if (!insert_open(ins))
		return EXIT_FAIL;
	err = epf_filter_batch(ins->filter, ins->cmd, &b);
	ins->done += b.done;
	ins->present += b.present;
	if (err)
		return fail_call(err, "inserting keys", NULL);
	meter_update(&ins->meter, ins->done, 0);
	return 0;
}

static int insert_keys(const char *name, const struct key_input *in)
{
	struct insertion ins = {
		.name = name,
		.filter = -1,
		.digests = in->digests,
		.meter = { .what = "inserting", .unit = "keys" },
	};
	int ret;

	if (!parse_name(name))
		return EXIT_FAIL;
	ret = keys_read(in, insert_batch, &ins);
	meter_end(&ins.meter);
	if (!ret && !insert_open(&ins)) /* no keys at all */
		ret = EXIT_FAIL;
	if (ins.filter < 0)
		return ret;
	epf_close(ins.filter);
	if (out_mode != OUT_TEXT)
		out_json(json_pack("{sI sI}", "inserted", (json_int_t)(ins.done - ins.present),
				   "present", (json_int_t)ins.present));
	return ret;
}

int cmd_insert(int argc, char **argv)
{
	static const struct option longs[] = { KEYS_LONGS, { 0 } };
	static const struct spec spec = {
		.usage = "insert NAME [options] [KEY ... | -]",
		.help = keys_help,
		.shorts = KEYS_SHORTS,
		.longs = longs,
	};
	const char *files[KEY_FILES_MAX];
	struct key_input in = { .files = files };
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (!keys_option(&in, opt, optarg))
			return EXIT_FAIL;
	if (!operands(argc, argv, 1, argc, &spec))
		return EXIT_FAIL;
	in.args = argv + optind + 1;
	in.nr_args = argc - optind - 1;
	return insert_keys(argv[optind], &in);
}
