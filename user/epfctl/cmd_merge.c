// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl merge: make one snapshot of what several hosts have seen. */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "epf/geometry.h"
#include "libepf/atomic_file.h"
#include "libepf/merge.h"
#include "libepf/snap.h"

enum { OPT_LOOSE = OPT_PROMISE_END };

/**
 * struct order - what to merge
 * @out: path of the result
 * @path: paths of the snapshots
 * @nr: how many
 * @limit: of the result; 0: that of the first snapshot
 * @loose: epochs need not match
 */
struct order {
	const char *out;
	char **path;
	int nr;
	double limit;
	bool loose;
};

static int merge_refused(enum epf_merge_fault fault, const char *path, const char *other)
{
	switch (fault) {
	case EPF_MERGE_OK:
		break;
	case EPF_MERGE_KIND:
		return fail("%s is of a kind that cannot be merged: use snapshots "
			    "of --kind lanes",
			    path);
	case EPF_MERGE_MODE:
		return fail("%s: its epochs end by insertions, which do not tell the "
			    "time: only windows of --time can be merged",
			    path);
	case EPF_MERGE_TIMES:
		return fail("%s has impossible times: save it again", path);
	case EPF_MERGE_KEY:
		return fail("%s has another hash key than %s: create filters that "
			    "will be merged with the same --key-file",
			    path, other);
	case EPF_MERGE_HASH:
		return fail("%s has another hash than %s: create both with "
			    "the same --hash",
			    path, other);
	case EPF_MERGE_GEOMETRY:
		return fail("%s has other lines, lines per key or bits per key than "
			    "%s: create both with the same options",
			    path, other);
	case EPF_MERGE_WINDOW:
		return fail("%s has another window than %s: create both with the "
			    "same --time",
			    path, other);
	case EPF_MERGE_TWICE:
		return fail("%s is the same snapshot as %s: leave one out", path, other);
	case EPF_MERGE_DESC:
		return fail("%s and %s have keys that are made of different things: "
			    "merge only what has the same keys ('epfctl show --file' "
			    "prints them)",
			    path, other);
	case EPF_MERGE_UNALIGNED:
		return fail("%s: its epochs do not end with those of the wall "
			    "clock: create filters with --align, or merge with "
			    "--loose",
			    path);
	}
	return EXIT_FAIL;
}

/* Under MPI the ranks take turns, and each knows of the other files no more than that. */
static bool is_mine(int i)
{
	return !ranks || i % ranks->nr == ranks->rank;
}

/* Open the snapshots. Return: number of those opened; if less than all, an error is printed. */
static int open_all(const struct order *o, struct epf_snap_file *file)
{
	int i;

	for (i = 0; i < o->nr; i++) {
		if (!is_mine(i))
			continue;
		if (epf_file_same(o->out, o->path[i])) {
			fail("%s is one of the snapshots, so it cannot be the result: "
			     "give another path",
			     o->out);
			break;
		}
		if (!open_snapshot(o->path[i], &file[i]))
			break;
		/* pages that have been checked need not stay until they are merged */
		epf_snap_let_go(&file[i], 0, file[i].map_bytes);
	}
	return i;
}

static json_t *sources_json(const struct epf_merge *m, const struct order *o)
{
	json_t *all = json_array();
	__u32 i;

	for (i = 0; i < m->nr; i++) {
		const struct epf_snap_header *h = &m->file[i].header;

		json_array_append_new(all, json_pack("{so si sI sI}", "file", json_path(o->path[i]),
						     "epochs", (int)m->source[i].epochs, "inserts",
						     (json_int_t)h->inserts, "behind_ns",
						     (json_int_t)(m->header.realtime_ns -
								  h->realtime_ns)));
	}
	return all;
}

static void merge_report(const struct epf_merge *m, const struct order *o)
{
	const struct epf_snap_header *h = &m->header;
	__u64 bytes = h->header_bytes + h->params.nr_lines * EPF_LINE_BYTES;

	if (out_mode == OUT_TEXT)
		printf("merged %u snapshots into %s: %s, %llu insertions, "
		       "false-positive rate %s\n",
		       m->nr, o->out, fmt_bytes(bytes).s, h->inserts, fmt_rate(m->fpr).s);
	else
		out_json(json_pack("{so sI sI sI sI sf sf sf sb so}", "file", json_path(o->out),
				   "bytes", (json_int_t)bytes, "inserts", (json_int_t)h->inserts,
				   "epoch_end", (json_int_t)h->epoch_end, "realtime_ns",
				   (json_int_t)h->realtime_ns, "fpr", m->fpr, "budget",
				   ppt_to_rate(h->params.budget_ppt), "limit",
				   ppt_to_rate(h->params.limit_ppt), "saturated",
				   m->fpr > ppt_to_rate(h->params.limit_ppt), "sources",
				   sources_json(m, o)));
}

/* Warn about a result that may surprise. */
static void remark(const struct epf_merge *m, const struct order *o)
{
	const struct epf_params *p = &m->header.params;
	double budget = ppt_to_rate(p->budget_ppt);
	__u32 i;

	for (i = 0; i < m->nr; i++)
		if (!m->source[i].epochs)
			warn("%s is older than the window: nothing of it is left", o->path[i]);
	if (m->fpr > ppt_to_rate(p->limit_ppt))
		warn("the snapshots have too many keys together: %s is above the limit "
		     "of %s, so what the result finds is not known (see --limit)",
		     fmt_rate(m->fpr).s, fmt_ppt(p->limit_ppt).s);
	else if (m->fpr > budget)
		warn("the snapshots have too many keys together: %s is above the budget of %s",
		     fmt_rate(m->fpr).s, fmt_ppt(p->budget_ppt).s);
}

/* What ranks tell each other of their snapshots. */
struct head {
	struct epf_snap_header header;
	struct epf_key_desc desc;
};

/* Learn the headers of the snapshots that other ranks have opened. */
static int share_heads(struct epf_snap_file *file, int nr)
{
	struct head *all = calloc((size_t)ranks->nr, sizeof(*all));
	int first, i;

	if (ranks_failed(!all))
		return fail("out of memory");
	for (first = 0; first < nr; first += ranks->nr) {
		struct head mine = { 0 };

		i = first + ranks->rank;
		if (i < nr) {
			mine.header = file[i].header;
			mine.desc = file[i].desc;
		}
		ranks_gather(all, &mine, sizeof(mine));
		for (i = first; i < nr && i < first + ranks->nr; i++) {
			file[i].header = all[i - first].header;
			file[i].desc = all[i - first].desc;
		}
	}
	free(all);
	return 0;
}

/* An epf_combine_fn. */
static int combine(__u64 *words, size_t nr, int err)
{
	if (ranks_failed(err))
		return err ? err : -ECANCELED;
	ranks_or(words, nr);
	return 0;
}

/* The work of all ranks but 0, which saves, and prints what fails there. */
static int take_part(struct epf_merge *m)
{
	int err = epf_merge_share(m);

	if (err && err != -ECANCELED)
		fail_errno(-err, "merging: %m");
	return ranks_failed(err) ? EXIT_FAIL : EXIT_YES;
}

static int merge_save(struct epf_merge *m, const struct order *o)
{
	struct meter meter = { .what = "merging" };
	bool saved;
	int err;

	if (ranks)
		m->combine = combine;
	if (ranks && ranks->rank)
		return take_part(m);
	m->progress = meter_update;
	m->ctx = &meter;
	err = epf_merge_save(m, o->out, &saved);
	meter_end(&meter);
	if (ranks && ranks_failed(err) && !err)
		return EXIT_FAIL;
	if (err == -ECANCELED && !saved)
		return fail("%s: stopped; nothing was changed", o->out);
	if (err)
		return fail_write(o->out, err, saved);
	merge_report(m, o);
	remark(m, o);
	return EXIT_YES;
}

static int merge(struct epf_merge *m, const struct order *o)
{
	struct epf_params *p = &m->header.params;
	enum epf_merge_fault fault = epf_merge_plan(m);
	bool low = o->limit && epf_rate_ppt(o->limit) < p->budget_ppt;

	if ((fault || low) && ranks && ranks->rank)
		return EXIT_FAIL; /* rank 0 says so */
	if (fault)
		return merge_refused(fault, o->path[m->which], o->path[m->with]);
	if (low)
		return fail("--limit %s is below the budget of %s", fmt_rate(o->limit).s,
			    fmt_ppt(p->budget_ppt).s);
	if (o->limit)
		p->limit_ppt = epf_rate_ppt(o->limit);
	return merge_save(m, o);
}

static int merge_run(const struct order *o)
{
	struct epf_snap_file *file = calloc((size_t)o->nr, sizeof(*file));
	struct epf_merge *m = calloc(1, sizeof(*m));
	int ret = EXIT_FAIL, opened = 0;

	if (ranks)
		ranks_speak();
	if (!file || !m)
		fail("out of memory");
	else
		opened = open_all(o, file);
	if (ranks ? ranks_failed(opened < o->nr) || share_heads(file, o->nr) : opened < o->nr)
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
		/* clang-format off */
		.help =
"Make FILE a snapshot that holds what any of the given snapshots holds. Their\n"
"filters need the same hash key, window of --time and size, and epochs that end\n"
"by the wall clock (create --align).\n"
"  -o, --output FILE       the result, replaced when it is complete; it must not\n"
"                          be one of the snapshots\n"
"      --limit RATE|never  limit of the result (default: of the first snapshot)\n"
"      --loose             merge also if epochs do not match: keys stay up to one\n"
"                          epoch longer\n",
		/* clang-format on */
		.shorts = "o:",
		.longs = longs,
	};
	struct epf_plan_request p = { 0 };
	struct order o = { 0 };
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt == 'o')
			o.out = optarg;
		else if (opt == OPT_LOOSE)
			o.loose = true;
		else if (!plan_option(&p, opt, optarg))
			return EXIT_FAIL;
	if (!operands(argc, argv, 1, argc, &spec))
		return EXIT_FAIL;
	if (argc - optind > (int)EPF_MERGE_MAX)
		return fail("%d snapshots are more than the %u that can be merged "
			    "at once: merge some of them first",
			    argc - optind, EPF_MERGE_MAX);
	if (!o.out)
		return fail("no result is named: give -o FILE");
	o.path = argv + optind;
	o.nr = argc - optind;
	o.limit = p.limit;
	return merge_run(&o);
}
