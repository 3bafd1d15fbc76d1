// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl save, restore: snapshot files. */
#include "create.h"
#include "test_snapshot.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epf/window.h"

enum { OPT_EXISTING = OPT_LONG, OPT_ALIGN };

int save_failed(int err, const char *name, const char *path, bool renamed)
{
	if (err == -EOPNOTSUPP || err == -ENOTTY)
		return fail("the loaded module cannot make snapshots of the kind of "
			    "'%s': load the module that belongs to this "
			    "epfctl",
			    name);
	switch (err) {
	case -ECANCELED:
		return fail("%s: stopped; nothing was changed", path);
	case -EBUSY:
		return fail("another snapshot of '%s' is being made: try again "
			    "when it is complete",
			    name);
	case -ESTALE:
		return fail("'%s' ends epochs faster than it can be copied: try "
			    "again when the machine is less busy",
			    name);
	case -EPERM:
		return fail_call(err, "saving a filter", NULL);
	case -EUCLEAN:
		return fail_call(err, "saving", name);
	default:
		return fail_write(path, err, renamed);
	}
}

static void save_report(const char *verb, const char *name, const char *path,
			const struct epf_snap_header *h)
{
	struct stat st;
	__u64 bytes = stat(path, &st) ? 0 : (__u64)st.st_size;

	if (out_mode == OUT_TEXT)
		printf("%s %s: %s, %llu insertions, epoch %llu\n", verb, name, fmt_bytes(bytes).s,
		       h->inserts, h->epoch_end);
	else
		out_json(json_pack("{ss so sI sI sI sI}", "name", name, "file", json_path(path),
				   "bytes", (json_int_t)bytes, "inserts", (json_int_t)h->inserts,
				   "epoch_begin", (json_int_t)h->epoch_begin, "epoch_end",
				   (json_int_t)h->epoch_end));
}

int cmd_save(int argc, char **argv)
{
	static const struct option longs[] = { { 0 } };
	static const struct spec spec = {
		.usage = "save NAME FILE",
		.help = "FILE is replaced when the snapshot is complete; until then it "
			"stays as it was.\nIt contains the hash key.\n",
		.shorts = "",
		.longs = longs,
	};
	struct meter meter = { .what = "saving" };
	struct epf_snap_header header;
	int filter, err;

	if (next_option(argc, argv, &spec) >= 0 || !operands(argc, argv, 2, 2, &spec))
		return EXIT_FAIL;
	filter = open_filter(argv[optind]);
	if (filter < 0)
		return EXIT_FAIL;
	catch_signals();
	err = epf_snap_save(filter, argv[optind + 1], meter_update, &meter, &header);
	meter_end(&meter);
	epf_close(filter);
	if (err)
		return save_failed(err, argv[optind], argv[optind + 1], header.magic);
	save_report("saved", argv[optind], argv[optind + 1], &header);
	return EXIT_YES;
}

/* The memory of a filter that is restored from @file. */
static __u64 save_bytes_of(const struct epf_snap_file *file)
{
	return file->locked ? file->locked->words * sizeof(__u64) :
			      file->header.params.nr_lines * EPF_LINE_BYTES;
}

/* The filter to fill; if there is none, it is made with @flags. Negative: an error is
 * printed.
 */
static int target(int dev, const char *name, const struct epf_snap_file *like, __u32 flags,
		  bool existing, bool *made)
{
	const struct epf_create_opts opts = {
		.size = sizeof(opts),
		.flags = flags,
		.shape = like->locked ? &like->locked->shape : NULL,
	};
	struct epf_params params = like->header.params;
	int filter = epf_dev_filter(dev, name);
	int err;

	*made = false;
	if (filter == -ENOENT && !existing) {
		memset(params.name, 0, sizeof(params.name));
		strcpy(params.name, name); /* parse_name() has checked the length */
		err = epf_dev_create_opts(dev, &params, &opts, NULL);
		if (err) {
			fail_limits(err, "creating a filter", NULL, true, save_bytes_of(like));
			return err;
		}
		filter = epf_dev_filter(dev, name);
		*made = filter >= 0;
		if (filter < 0)
			epf_dev_destroy(dev, name, false);
	}
	if (filter < 0)
		fail_call(filter, "opening", name);
	return filter;
}

/* For pure BPF new contents are a new map, and a new filter also has a program. */
static bool save_allowed(int dev, const char *name)
{
	int filter;

	if (epf_is_module(dev))
		return true;
	filter = epf_dev_filter(dev, name);
	if (filter >= 0)
		epf_close(filter);
	return caps_ok("restoring a filter that is pure BPF",
		       filter >= 0 ? CAPS_MAPS : CAPS_PROGRAMS);
}

static int restore_into(int dev, const char *name, const char *path,
			const struct epf_snap_file *file, __u32 flags, bool existing)
{
	int filter, err;
	bool made;

	if (!save_allowed(dev, name))
		return EXIT_FAIL;
	filter = target(dev, name, file, flags, existing, &made);
	if (filter < 0)
		return EXIT_FAIL;
	err = epf_snap_restore(filter, file);
	epf_close(filter);
	if (!err) {
		save_report("restored", name, path, &file->header);
		if (made && !epf_is_module(dev) && out_mode == OUT_TEXT)
			create_tell_backend(ROTATE_PROCESS, name);
		return EXIT_YES;
	}
	if (made)
		epf_dev_destroy(dev, name, false);
	if (err == -EBUSY)
		return fail("a snapshot of '%s' is being made: try again when it "
			    "is complete",
			    name);
	if (err == -EOPNOTSUPP && epf_is_module(dev))
		return fail("%s: the kernel has no filters of this kind: try "
			    "'modprobe epochfilter_kinds', or install the modules "
			    "of this version",
			    path);
	return fail_limits(err, "restoring a filter", NULL, false, save_bytes_of(file));
}

int cmd_restore(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "existing", no_argument, NULL, OPT_EXISTING },
		{ "align", no_argument, NULL, OPT_ALIGN },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "restore NAME FILE [--existing | --align]",
		/* clang-format off */
		.help =
"Replace the contents, parameters and hash key of a filter by those of FILE. A\n"
"filter that does not exist is made.\n"
"      --existing  do not make a filter\n"
"      --align     a new filter ends its epochs by the wall clock\n",
		/* clang-format on */
		.shorts = "",
		.longs = longs,
	};
	struct snapshot s;
	struct epf_info info;
	bool existing = false;
	__u32 flags = 0;
	int opt, dev, ret;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt == OPT_EXISTING)
			existing = true;
		else if (opt == OPT_ALIGN)
			flags = EPF_CREATE_ALIGN;
		else
			return EXIT_FAIL;
	if (!operands(argc, argv, 2, 2, &spec) || !parse_name(argv[optind]) ||
	    !snapshot_open(&s, argv[optind + 1], &info))
		return EXIT_FAIL;
	if (flags && info.params.mode != EPF_MODE_TIME) {
		snapshot_close(&s);
		return fail("%s: --align needs a snapshot of a window of --time", argv[optind + 1]);
	}
	dev = open_device();
	ret = dev < 0 ? EXIT_FAIL :
			restore_into(dev, argv[optind], argv[optind + 1], &s.file, flags, existing);
	if (dev >= 0)
		epf_close(dev);
	if (ret == EXIT_YES && s.saturated)
		warn("'%s' answers 'do not know' for what it finds, because its error of %s is above "
		     "its limit of %s",
		     argv[optind], fmt_ppt(s.fpr_ppt).s, fmt_ppt(info.params.limit_ppt).s);
	snapshot_close(&s);
	return ret;
}
