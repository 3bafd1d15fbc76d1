// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Errors about the module's limits on the number and memory of filters. They say what
 * was needed, what is allowed, and which limit it was.
 */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PARAMETERS "/sys/module/epochfilter/parameters/"
#define MIB (1ULL << 20)

/**
 * struct limits - what is allowed, and what exists
 * @filters_max: number of filters
 * @filter_mib: memory of one filter; 0: half of the machine's memory
 * @total_mib: memory of all filters together; 0: likewise
 * @filters: filters that exist
 * @bytes: memory of these
 */
struct limits {
	__u64 filters_max;
	__u64 filter_mib;
	__u64 total_mib;
	__u32 filters;
	__u64 bytes;
};

static bool read_parameter(const char *path, __u64 *value)
{
	FILE *f = fopen(path, "r");
	bool good = f && fscanf(f, "%llu", value) == 1;

	if (f)
		fclose(f);
	return good;
}

static __u64 limits_bytes_of(int dev, __u32 id)
{
	int filter = epf_dev_filter_id(dev, id);
	struct epf_info info = { 0 };

	if (filter < 0)
		return 0; /* destroyed in the meantime */
	if (epf_filter_info(filter, &info))
		info.memory_bytes = 0;
	close(filter);
	return info.memory_bytes;
}

static bool count_filters(struct limits *l)
{
	int dev = epf_dev_open();
	int nr = -1, i;
	__u32 *ids;

	if (dev >= 0)
		nr = epf_dev_list(dev, &ids);
	if (nr >= 0) {
		for (i = 0; i < nr; i++)
			l->bytes += limits_bytes_of(dev, ids[i]);
		l->filters = (__u32)nr;
		free(ids);
	}
	if (dev >= 0)
		close(dev);
	return nr >= 0;
}

static bool read_limits(struct limits *l)
{
	*l = (struct limits){ 0 };
	return read_parameter(PARAMETERS "max_filters", &l->filters_max) &&
	       read_parameter(PARAMETERS "max_filter_mib", &l->filter_mib) &&
	       read_parameter(PARAMETERS "max_total_mib", &l->total_mib) && count_filters(l);
}

static __u64 limits_allowed(__u64 mib)
{
	struct sysinfo info;

	if (mib || sysinfo(&info))
		return mib * MIB;
	return (__u64)info.totalram * info.mem_unit / 2;
}

static const char *where_from(__u64 mib)
{
	return mib ? "" : ", half of this machine's memory";
}

/* MiB that are enough for @bytes and for what the module adds to them. */
static __u64 mib_for(__u64 bytes)
{
	return bytes / MIB + 2;
}

static int too_large(const struct limits *l, const char *doing, const char *beside, __u64 bytes)
{
	return fail("%s takes %s%s, and one filter may have %s (max_filter_mib is "
		    "%llu%s): ask for less, or 'echo %llu > " PARAMETERS "max_filter_mib'",
		    doing, fmt_bytes(bytes).s, beside, fmt_bytes(limits_allowed(l->filter_mib)).s,
		    l->filter_mib, where_from(l->filter_mib), mib_for(bytes));
}

static int too_many(const struct limits *l, const char *doing)
{
	return fail("%s: there are %u filters, and max_filters is %llu: destroy "
		    "one, or 'echo %u > " PARAMETERS "max_filters'",
		    doing, l->filters, l->filters_max, l->filters + 1);
}

static int limits_too_much(const struct limits *l, const char *doing, const char *beside,
			   __u64 bytes)
{
	return fail("%s takes %s%s; the filters that exist (%u) have %s, and all "
		    "together may have %s (max_total_mib is %llu%s): destroy "
		    "one, or 'echo %llu > " PARAMETERS "max_total_mib'",
		    doing, fmt_bytes(bytes).s, beside, l->filters, fmt_bytes(l->bytes).s,
		    fmt_bytes(limits_allowed(l->total_mib)).s, l->total_mib,
		    where_from(l->total_mib), mib_for(bytes + l->bytes));
}

bool limits_forbid(__u64 bytes)
{
	struct limits l;

	return read_limits(&l) && bytes + MIB > limits_allowed(l.filter_mib);
}

int fail_limits(int err, const char *doing, const char *name, bool one_more, __u64 bytes)
{
	const char *beside = one_more ? "" : " in addition to what it has";
	struct limits l;

	if ((err != -E2BIG && err != -ENOSPC) || !read_limits(&l))
		return fail_call(err, doing, name);
	if (err == -E2BIG)
		return too_large(&l, doing, beside, bytes);
	if (one_more && l.filters >= l.filters_max)
		return too_many(&l, doing);
	return limits_too_much(&l, doing, beside, bytes);
}
