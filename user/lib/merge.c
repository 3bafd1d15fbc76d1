// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One snapshot of several. */
#include "lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libepf/atomic_file.h"
#include "libepf/merge.h"

#define MERGE_FIRST LIB_FIRST(libepf_merge, inserts)

_Static_assert(LIBEPF_MERGE_MAX == EPF_MERGE_MAX, "as many files");

static const char *merge_fault_text(enum epf_merge_fault fault)
{
	switch (fault) {
	case EPF_MERGE_KIND:
		return "is of a kind that cannot be merged";
	case EPF_MERGE_MODE:
		return "does not have a window of time alone";
	case EPF_MERGE_TIMES:
		return "has impossible times";
	case EPF_MERGE_KEY:
		return "has another hash key";
	case EPF_MERGE_HASH:
		return "has another hash";
	case EPF_MERGE_GEOMETRY:
		return "has another geometry";
	case EPF_MERGE_WINDOW:
		return "has another window";
	case EPF_MERGE_TWICE:
		return "is the same snapshot as another one";
	case EPF_MERGE_DESC:
		return "has keys that are made of something else";
	case EPF_MERGE_UNALIGNED:
		return "has epochs that do not end by the wall clock: see LIBEPF_MERGE_LOOSE";
	default:
		return "cannot be merged";
	}
}

static int merge_check(const char *const *paths, size_t n, const char *out,
		       const struct libepf_merge *o)
{
	size_t i;

	if (!paths || !out)
		return lib_fail(-EINVAL, "no paths: NULL");
	if (!n || n > LIBEPF_MERGE_MAX)
		return lib_fail(-EINVAL, "%zu snapshots: 1 to %u can be merged", n,
				LIBEPF_MERGE_MAX);
	if (o->flags & ~LIBEPF_MERGE_LOOSE || !(o->limit >= 0 && o->limit <= 1))
		return lib_fail(-EINVAL, "unknown flags of a merge, or a limit beyond 0 to 1");
	for (i = 0; i < n; i++)
		if (!paths[i])
			return lib_fail(-EINVAL, "path %zu is missing: NULL", i);
		else if (epf_file_same(out, paths[i]))
			return lib_fail(-EINVAL, "%s is one of the snapshots", out);
	return 0;
}

static int merge_progress(void *context, __u64 done, __u64 all)
{
	const struct libepf_merge *o = context;

	return o->progress(o->context, done, all);
}

/* Match, and write. */
static int run(struct epf_merge *m, const char *const *paths, const char *out,
	       struct libepf_merge *o)
{
	enum epf_merge_fault fault = epf_merge_plan(m);
	struct epf_params *p = &m->header.params;
	bool saved;
	int err;

	if (fault)
		return lib_fail(-EINVAL, "%s %s", paths[m->which], merge_fault_text(fault));
	if (o->limit && epf_rate_ppt(o->limit) < p->budget_ppt)
		return lib_fail(-EINVAL, "the limit is below the error of %s", paths[0]);
	if (o->limit)
		p->limit_ppt = epf_rate_ppt(o->limit);
	err = epf_merge_save(m, out, &saved);
	o->error = m->fpr;
	o->inserts = m->header.inserts;
	return err ? lib_errno(err, out) : 0;
}

static int merge(struct epf_merge *m, struct epf_snap_file *file, const char *const *paths,
		 const char *out, struct libepf_merge *o)
{
	enum epf_snap_fault fault = EPF_SNAP_IO;
	__u32 opened = 0;
	int err = 0;

	for (; !err && opened < m->nr; opened += !err)
		err = epf_snap_open(paths[opened], &file[opened], NULL, NULL, &fault);
	err = err ? lib_snap_fail(err, paths[opened], fault) : run(m, paths, out, o);
	while (opened--)
		epf_snap_close(&file[opened]);
	return err;
}

int libepf_merge(const char *const *paths, size_t n, const char *out, struct libepf_merge *options)
{
	struct epf_snap_file *file;
	struct libepf_merge o;
	struct epf_merge *m;
	int err = lib_options(&o, sizeof(o), MERGE_FIRST, options, false);

	if (!err)
		err = merge_check(paths, n, out, &o);
	if (err)
		return err;
	file = calloc(n, sizeof(*file));
	m = calloc(1, sizeof(*m));
	if (!file || !m) {
		free(file);
		free(m);
		return lib_no_memory();
	}
	m->file = file;
	m->nr = (__u32)n;
	m->loose = o.flags & LIBEPF_MERGE_LOOSE;
	m->progress = o.progress ? merge_progress : NULL;
	m->ctx = &o;
	err = merge(m, file, paths, out, &o);
	explicit_bzero(&m->header, sizeof(m->header)); /* it holds the hash key */
	free(m);
	free(file);
	if (!err && options) {
		options->error = o.error;
		options->inserts = o.inserts;
	}
	return err;
}
