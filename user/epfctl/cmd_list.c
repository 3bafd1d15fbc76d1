// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl list, show: filters of the module and in pure BPF, and snapshot files. */
#include "cmd.h"
#include "test_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "epf/window.h"
#include "libepf/query/kinds.h"
#include "kinds/compare.h"

enum { OPT_NAMES = OPT_LONG };

static const char *list_kind_of(const struct epf_params *p)
{
	const char *name = epf_kind_name(p->kind);

	return name ? name : "unknown";
}

/* At most 80 columns; a long name has a line of its own. */
#define NAME_COLUMNS 20
#define LIST_HEAD "%-4u %s"
#define LIST_REST "%-*s %-5s %-6s %9s %7s %8s %9s %s\n"

static void list_row(const struct epf_info *info, bool bpf)
{
	const struct epf_params *p = &info->params;
	char head[64];

	snprintf(head, sizeof(head), LIST_HEAD, info->id, p->name);
	if (strlen(head) > NAME_COLUMNS) {
		puts(head);
		*head = '\0';
	}
	printf(LIST_REST, NAME_COLUMNS, head, list_kind_of(p), mode_name(p->mode),
	       fmt_bytes(info->memory_bytes).s, fmt_count(info->stats.inserts).s,
	       fmt_ppt(p->budget_ppt).s,
	       info->flags & EPF_INFO_SATURATED ? "SATURATED" : fmt_ppt(info->fpr_ppt).s,
	       bpf ? "bpf" : "module");
}

/* Add one filter to @all, or print it if that is NULL. Return: 0; -EUCLEAN: an error is
 * printed, and the other filters can still be listed; another error.
 */
static int list_one(int dev, __u32 id, json_t *all, bool names)
{
	int filter = epf_dev_filter_id(dev, id);
	struct epf_info info;
	bool bpf = !epf_is_module(dev);
	int err;

	if (filter == -ENOENT || filter == -ENODEV)
		return 0; /* destroyed in the meantime */
	if (filter < 0)
		return filter;
	err = epf_filter_info(filter, &info);
	epf_close(filter);
	if (err == -EUCLEAN && !names)
		fail_call(err, "listing", info.params.name);
	if (err && !(err == -EUCLEAN && names))
		return err == -ENODEV ? 0 : err;
	if (!all && names)
		puts(info.params.name);
	else if (!all)
		list_row(&info, bpf);
	else if (names)
		json_array_append_new(all, json_string(info.params.name));
	else
		json_array_append_new(all, info_json(&info, bpf));
	return 0;
}

static int list_all(int dev, json_t *all, bool names)
{
	__u32 *ids;
	int nr = epf_dev_list(dev, &ids);
	int err = nr < 0 ? nr : 0, half = 0;
	int i;

	if (nr > 0 && !all && !names)
		printf(LIST_REST, NAME_COLUMNS, "id   name", "kind", "mode", "memory", "inserts",
		       "budget", "error", "backend");
	for (i = 0; i < nr && !err; i++) {
		err = list_one(dev, ids[i], all, names);
		half = err == -EUCLEAN ? err : half;
		err = err == -EUCLEAN ? 0 : err;
	}
	free(ids);
	return err ? err : half;
}

int cmd_list(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "names", no_argument, NULL, OPT_NAMES },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "list [--names]",
		.help = "      --names  print only the names\n",
		.shorts = "",
		.longs = longs,
	};
	bool names = false;
	json_t *all = NULL;
	int dev, second, err, opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != OPT_NAMES)
			return EXIT_FAIL;
		names = true;
	}
	if (!operands(argc, argv, 0, 0, &spec))
		return EXIT_FAIL;
	dev = open_device();
	if (dev < 0)
		return EXIT_FAIL;
	if (out_mode != OUT_TEXT)
		all = json_array();
	err = list_all(dev, all, names);
	second = err ? -ENOENT : epf_backend_second(dev);
	if (second >= 0) {
		err = list_all(second, all, names);
		epf_close(second);
	}
	epf_close(dev);
	if (err && err != -EUCLEAN) {
		json_decref(all);
		return fail_call(err, "listing filters", NULL);
	}
	if (all)
		out_json(all);
	return err ? EXIT_FAIL : EXIT_YES;
}

static int show_filter(const char *name)
{
	int filter = open_filter(name);
	struct epf_info info;
	bool bpf;
	int err;

	if (filter < 0)
		return EXIT_FAIL;
	bpf = !epf_is_module(filter);
	err = epf_filter_info(filter, &info);
	epf_close(filter);
	if (err)
		return fail_call(err, "showing", name);
	if (out_mode == OUT_TEXT)
		info_print(&info, bpf);
	else
		out_json(info_json(&info, bpf));
	return EXIT_YES;
}

static const struct epf_shape *shape_of(const struct epf_snap_file *file)
{
	return file->locked ? &file->locked->shape : NULL;
}

/* The complete epochs in a window. */
static __u32 list_epochs_of(const struct epf_snap_file *file)
{
	const struct epf_params *p = &file->header.params;

	return file->locked ? epf_kind_epochs(p, shape_of(file)) : EPF_LIVE_EPOCHS;
}

static void snapshot_text(const char *path, const struct epf_snap_file *file, __u64 fpr_ppt)
{
	const struct epf_snap_header *h = &file->header;
	time_t at = (time_t)(h->realtime_ns / NS_PER_SEC);
	char when[64] = "";
	struct tm tm;

	if (localtime_r(&at, &tm))
		strftime(when, sizeof(when), "%F %T %z", &tm);
	printf("%s: snapshot of %s, %s%s\n", path, h->params.name, when,
	       fpr_ppt > h->params.limit_ppt ? ", SATURATED: what it finds is not known" : "");
	params_print(&h->params, shape_of(file), list_epochs_of(file));
	desc_print(&file->desc);
	printf("  %-12s %s\n", file->locked ? "memory" : "lines",
	       fmt_bytes(file->locked ? file->locked->words * sizeof(__u64) :
					h->params.nr_lines * EPF_LINE_BYTES)
		       .s);
	printf("  %-12s %llu when the copy began, %llu at its end\n", "epoch", h->epoch_begin,
	       h->epoch_end);
	printf("  %-12s %llu insertions\n", "counted", h->inserts);
	printf("  %-12s %s false positives, estimated\n", "error", fmt_ppt(fpr_ppt).s);
	printf("  %-12s sound\n", "checksums");
}

static void snapshot_json(const char *path, const struct epf_snap_file *file, __u64 fpr_ppt)
{
	const struct epf_snap_header *h = &file->header;
	json_t *o = params_json(&h->params, shape_of(file));

	json_object_set_new(o, "file", json_path(path));
	json_object_set_new(o, "keys", desc_json(&file->desc));
	json_object_set_new(o, "epoch_begin", json_integer((json_int_t)h->epoch_begin));
	json_object_set_new(o, "epoch_end", json_integer((json_int_t)h->epoch_end));
	json_object_set_new(o, "inserts", json_integer((json_int_t)h->inserts));
	json_object_set_new(o, "fpr", json_real(ppt_to_rate(fpr_ppt)));
	json_object_set_new(o, "saturated", json_boolean(fpr_ppt > h->params.limit_ppt));
	json_object_set_new(o, "realtime_ns", json_integer((json_int_t)h->realtime_ns));
	out_json(o);
}

static int show_snapshot(const char *path)
{
	struct epf_info info = { 0 };
	struct snapshot s;

	if (!snapshot_open(&s, path, &info))
		return EXIT_FAIL;
	if (out_mode == OUT_TEXT)
		snapshot_text(path, &s.file, s.fpr_ppt);
	else
		snapshot_json(path, &s.file, s.fpr_ppt);
	snapshot_close(&s);
	return EXIT_YES;
}

int cmd_show(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "file", required_argument, NULL, 'f' },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "show (NAME | ID | --file SNAPSHOT)",
		.help = "  -f, --file SNAPSHOT  check and describe a snapshot file; the hash key is\n"
			"                       not shown\n",
		.shorts = "f:",
		.longs = longs,
	};
	const char *path = NULL;
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt != 'f')
			return EXIT_FAIL;
		path = optarg;
	}
	if (!operands(argc, argv, !path, !path, &spec))
		return EXIT_FAIL;
	return path ? show_snapshot(path) : show_filter(argv[optind]);
}
