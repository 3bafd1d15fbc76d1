// SPDX-License-Identifier: GPL-2.0
/* epfctl merge: one snapshot of what several hosts have seen. */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "epf/geometry.h"
#include "libepf/atomic_file.h"
#include "libepf/merge.h"

enum { OPT_LOOSE = OPT_PROMISE_END };

/**
 * struct order - what to merge
 * @out: path of the result
 * @path: of the snapshots
 * @nr: how many
 * @limit: of the result; 0: of the first
 * @loose: epochs need not match
 */
struct order {
	const char *out;
	char **path;
	int nr;
	double limit;
	bool loose;
};

static int refused(enum epf_merge_fault fault, const char *path,
		   const char *other)
{
	switch (fault) {
	case EPF_MERGE_OK:
		break;
	case EPF_MERGE_KIND:
		return fail("%s is of a kind that cannot be merged: --kind lanes "
			    "can", path);
	case EPF_MERGE_MODE:
		return fail("%s: its epochs end by insertions, which say nothing "
			    "about when: only windows of --time can be merged",
			    path);
	case EPF_MERGE_TIMES:
		return fail("%s has times that cannot be: save again", path);
	case EPF_MERGE_KEY:
		return fail("%s has another hash key than %s: create filters that "
			    "are to be merged with the same --key", path, other);
	case EPF_MERGE_HASH:
		return fail("%s has another hash than %s: create both with "
			    "the same --hash", path, other);
	case EPF_MERGE_GEOMETRY:
		return fail("%s has other lines, or lines or bits a key, than "
			    "%s: create both with the same options", path, other);
	case EPF_MERGE_WINDOW:
		return fail("%s has another window than %s: create both with the "
			    "same --time", path, other);
	case EPF_MERGE_TWICE:
		return fail("%s is the same snapshot as %s: leave one out", path,
			    other);
	case EPF_MERGE_DESC:
		return fail("%s and %s have keys that are made of different "
			    "things ('epfctl show --file' tells): merge those "
			    "that are alike", path, other);
	case EPF_MERGE_UNALIGNED:
		return fail("%s: its epochs do not end with those of the wall "
			    "clock: create filters with --align, or merge with "
			    "--loose", path);
	}
	return EXIT_FAIL;
}

/* Open all. Return: how many were; fewer than there are: an error printed. */
static int open_all(const struct order *o, struct epf_snap_file *file)
{
	int i;

	for (i = 0; i < o->nr; i++) {
		if (epf_file_same(o->out, o->path[i])) {
			fail("%s is to be merged, so it cannot be the result: "
			     "take another path", o->out);
			break;
		}
		if (!open_snapshot(o->path[i], &file[i]))
			break;
		/* what has been checked need not stay until it is merged */
		madvise(file[i].map, file[i].map_bytes, MADV_DONTNEED);
	}
	return i;
}

static json_t *sources_json(const struct epf_merge *m, const struct order *o)
{
	json_t *all = json_array();
	__u32 i;

	for (i = 0; i < m->nr; i++) {
		const struct epf_snap_header *h = &m->file[i].header;

		json_array_append_new(all, json_pack("{so si sI sI}",
			"file", json_path(o->path[i]),
			"epochs", (int)m->source[i].epochs,
			"inserts", (json_int_t)h->inserts,
			"behind_ns", (json_int_t)(m->header.realtime_ns -
						  h->realtime_ns)));
	}
	return all;
}

static void report(const struct epf_merge *m, const struct order *o)
{
	const struct epf_snap_header *h = &m->header;
	__u64 bytes = h->header_bytes + h->params.nr_lines * EPF_LINE_BYTES;

	if (out_mode == OUT_TEXT)
		printf("merged %u snapshots into %s: %s, %llu insertions, "
		       "false-positive rate %s\n", m->nr, o->out,
		       fmt_bytes(bytes).s, h->inserts, fmt_rate(m->fpr).s);
	else
		out_json(json_pack("{so sI sI sI sI sf sf sf so}",
			"file", json_path(o->out),
			"bytes", (json_int_t)bytes,
			"inserts", (json_int_t)h->inserts,
			"epoch_end", (json_int_t)h->epoch_end,
			"realtime_ns", (json_int_t)h->realtime_ns,
			"fpr", m->fpr,
			"budget", ppt_to_rate(h->params.budget_ppt),
			"limit", ppt_to_rate(h->params.limit_ppt),
			"sources", sources_json(m, o)));
}

/* What is not as one may expect, though it is done. */
static void remark(const struct epf_merge *m, const struct order *o)
{
	const struct epf_params *p = &m->header.params;
	double budget = ppt_to_rate(p->budget_ppt);
	__u32 i;

	for (i = 0; i < m->nr; i++)
		if (!m->source[i].epochs)
			warn("%s is older than the window: nothing of it is left",
			     o->path[i]);
	if (m->fpr > ppt_to_rate(p->limit_ppt))
		warn("the keys of all are too many: %s is above the limit of %s, "
		     "a filter restored from it fails open (--limit)",
		     fmt_rate(m->fpr).s, fmt_ppt(p->limit_ppt).s);
	else if (m->fpr > budget)
		warn("the keys of all are too many: %s is above the budget of %s",
		     fmt_rate(m->fpr).s, fmt_ppt(p->budget_ppt).s);
}

static int save(struct epf_merge *m, const struct order *o)
{
	struct meter meter = { .what = "merging" };
	bool saved;
	int err;

	m->progress = meter_update;
	m->ctx = &meter;
	err = epf_merge_save(m, o->out, &saved);
	meter_end(&meter);
	if (err == -ECANCELED && !saved)
		return fail("%s: stopped; nothing was changed", o->out);
	if (err)
		return fail_write(o->out, err, saved);
	report(m, o);
	remark(m, o);
	return EXIT_YES;
}

static int merge(struct epf_merge *m, const struct order *o)
{
	struct epf_params *p = &m->header.params;
	enum epf_merge_fault fault = epf_merge_plan(m);

	if (fault)
		return refused(fault, o->path[m->which], o->path[m->with]);
	if (o->limit && rate_to_ppt(o->limit) < p->budget_ppt)
		return fail("--limit %s is below the budget of %s",
			    fmt_rate(o->limit).s, fmt_ppt(p->budget_ppt).s);
	if (o->limit)
		p->limit_ppt = rate_to_ppt(o->limit);
	return save(m, o);
}

static int run(const struct order *o)
{
	struct epf_snap_file *file = calloc((size_t)o->nr, sizeof(*file));
	struct epf_merge *m = calloc(1, sizeof(*m));
	int ret = EXIT_FAIL, opened = 0;

	if (!file || !m) {
		fail("not enough memory");
		goto out;
	}
	opened = open_all(o, file);
	if (opened < o->nr)
		goto out;
	m->file = file;
	m->nr = (__u32)o->nr;
	m->loose = o->loose;
	ret = merge(m, o);
out:
	while (opened--)
		epf_snap_close(&file[opened]);
	free(m);
	free(file);
	return ret;
}

int cmd_merge(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "loose", no_argument, NULL, OPT_LOOSE },
		{ 0 },
	};
	static const struct spec spec = {
		.usage = "merge -o FILE SNAPSHOT ... [options]",
		.help =
"FILE becomes a snapshot that holds what any of the others does. They are of\n"
"filters with the same --time, --key and size, epochs matched by the wall clock\n"
"(create --align).\n"
"  -o, --output FILE       replaced when all is written; none of the others\n"
"      --limit RATE|never  limit of the result (default: of the first one)\n"
"      --loose             epochs need not match: keys stay up to one longer\n",
		.shorts = "o:",
		.longs = longs,
	};
	struct promise p = { 0 };
	struct order o = { 0 };
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt == 'o')
			o.out = optarg;
		else if (opt == OPT_LOOSE)
			o.loose = true;
		else if (!promise_option(&p, opt, optarg))
			return EXIT_FAIL;
	if (!operands(argc, argv, 1, argc, &spec))
		return EXIT_FAIL;
	if (argc - optind > (int)EPF_MERGE_MAX)
		return fail("%d snapshots are more than the %u that can be merged "
			    "at once: merge some of them first", argc - optind,
			    EPF_MERGE_MAX);
	if (!o.out)
		return fail("no file to merge into: -o FILE");
	o.path = argv + optind;
	o.nr = argc - optind;
	o.limit = p.limit;
	return run(&o);
}
