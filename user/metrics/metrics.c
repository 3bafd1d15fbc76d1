// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * OpenMetrics 1.0.0, and the older text format 0.0.4, in which families have the names
 * of their samples and there is no type "info", no unit and no end marker.
 *
 * All samples of a family must be adjacent, so all filters are read first. No floating
 * point is used: durations and ratios are printed as decimal fractions of the kernel's
 * integers, so no digit is lost and no value is NaN or infinite.
 */
#include "metrics/metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "ebpf/ebpf.h"
#include "libepf/backend.h"
#include "libepf/epf.h"
#include "libepf/kinds/compare.h"

#ifndef EPF_VERSION
#define EPF_VERSION "unknown"
#endif

enum type { COUNTER, GAUGE, INFO };

/* Base units; a family's name ends with its unit. */
enum unit { NONE, BYTES, RATIO, SECONDS };

static const char *const type_names[] = {
	[COUNTER] = "counter",
	[GAUGE] = "gauge",
	[INFO] = "info",
};
static const char *const suffixes[] = {
	[COUNTER] = "_total",
	[GAUGE] = "",
	[INFO] = "_info",
};
static const char *const unit_names[] = {
	[BYTES] = "bytes",
	[RATIO] = "ratio",
	[SECONDS] = "seconds",
};

/* A metric family. */
struct family {
	const char *name;
	enum type type;
	enum unit unit;
	const char *help;
};

/* A number in a struct, of 64 or 32 bits. */
struct field {
	size_t at;
	size_t bytes;
};
#define FIELD(type, member)                                         \
	{                                                           \
		offsetof(type, member), sizeof(((type *)0)->member) \
	}
#define INFO_FIELD(member) FIELD(struct epf_info, member)
#define AGENT_FIELD(member) FIELD(struct agent_stats, member)
#define CLUSTER_FIELD(member) FIELD(struct stats_cluster, member)
#define PEER_FIELD(member) FIELD(struct stats_peer, member)

/**
 * struct series - a family with one sample per filter
 * @family: family
 * @field: where its value is
 * @mask: if not 0, the value is 1 if one of these bits is set, else 0
 * @optional: a value of 0 means that there is no sample
 */
struct series {
	struct family family;
	struct field field;
	__u32 mask;
	bool optional;
};

static const struct series filter_series[] = {
	{ .family = { "inserts", COUNTER, NONE, "Keys inserted." },
	  .field = INFO_FIELD(stats.inserts) },
	{ .family = { "hits", COUNTER, NONE, "Verdicts present." },
	  .field = INFO_FIELD(stats.hits) },
	{ .family = { "misses", COUNTER, NONE, "Verdicts absent." },
	  .field = INFO_FIELD(stats.misses) },
	{ .family = { "failed_open", COUNTER, NONE,
		      "Verdicts \"do not know\", because the filter was "
		      "saturated or nobody ended its epochs." },
	  .field = INFO_FIELD(stats.failed_open) },
	{ .family = { "saturations", COUNTER, NONE, "Times the filter became saturated." },
	  .field = INFO_FIELD(stats.saturations) },
	{ .family = { "rotations", COUNTER, NONE, "Epochs ended." },
	  .field = INFO_FIELD(stats.rotations) },
	{ .family = { "rotations_delayed", COUNTER, NONE,
		      "Times that a rotation was due but had to wait." },
	  .field = INFO_FIELD(stats.delayed) },
	{ .family = { "scanned_lines", COUNTER, NONE, "Stale lines scanned." },
	  .field = INFO_FIELD(stats.scanned) },
	{ .family = { "memory_waits", COUNTER, NONE,
		      "Times that memory was needed but unavailable." },
	  .field = INFO_FIELD(waits) },
	{ .family = { "saturated", GAUGE, NONE,
		      "1 while the error may exceed the limit, so that the "
		      "filter fails open." },
	  .field = INFO_FIELD(flags),
	  .mask = EPF_INFO_SATURATED },
	{ .family = { "rotation_pinned", GAUGE, NONE, "1 while a snapshot blocks rotation." },
	  .field = INFO_FIELD(flags),
	  .mask = EPF_INFO_PINNED },
	{ .family = { "error_ratio", GAUGE, RATIO, "Current estimate of the false-positive rate." },
	  .field = INFO_FIELD(fpr_ppt) },
	{ .family = { "budget_ratio", GAUGE, RATIO, "Requested false-positive rate." },
	  .field = INFO_FIELD(params.budget_ppt) },
	{ .family = { "limit_ratio", GAUGE, RATIO,
		      "False-positive rate above which the filter fails open; "
		      "1: never." },
	  .field = INFO_FIELD(params.limit_ppt) },
	{ .family = { "covered_inserts", GAUGE, NONE,
		      "Number of last insertions that are all retained." },
	  .field = INFO_FIELD(covered_inserts) },
	{ .family = { "covered_seconds", GAUGE, SECONDS,
		      "Time for which all insertions are retained." },
	  .field = INFO_FIELD(covered_ns) },
	{ .family = { "window_inserts", GAUGE, NONE,
		      "Length of a window that is counted in insertions." },
	  .field = INFO_FIELD(params.window_inserts),
	  .optional = true },
	{ .family = { "window_seconds", GAUGE, SECONDS,
		      "Length of a window that is counted in time." },
	  .field = INFO_FIELD(params.window_ns),
	  .optional = true },
	{ .family = { "memory_bytes", GAUGE, BYTES, "Memory of the lines and their metadata." },
	  .field = INFO_FIELD(memory_bytes) },
	{ .family = { "slices", GAUGE, NONE, "Segments, slices or generations that have memory." },
	  .field = INFO_FIELD(slices),
	  .optional = true },
	{ .family = { "epoch", GAUGE, NONE, "Number of the current epoch." },
	  .field = INFO_FIELD(epoch) },
	{ .family = { "users", GAUGE, NONE, "Descriptors, mappings and BPF references." },
	  .field = INFO_FIELD(users) },
	{ .family = { "age_seconds", GAUGE, SECONDS, "Time since creation." },
	  .field = INFO_FIELD(age_ns) },
};

/* Families of the agent, with one sample each and no labels. */
static const struct series agent_series[] = {
	{ .family = { "agent_start_time_seconds", GAUGE, SECONDS,
		      "Start time of the agent, in Unix time." },
	  .field = AGENT_FIELD(start_ns) },
	{ .family = { "agent_keys_asked", COUNTER, NONE, "Keys looked up in audits." },
	  .field = AGENT_FIELD(keys_asked) },
	{ .family = { "agent_keys_present", COUNTER, NONE, "Keys of audits that were present." },
	  .field = AGENT_FIELD(keys_present) },
	{ .family = { "agent_busy_seconds", COUNTER, SECONDS, "Time spent on audits." },
	  .field = AGENT_FIELD(busy_ns) },
	{ .family = { "agent_requests_refused", COUNTER, NONE,
		      "Requests refused as invalid, not allowed or too many." },
	  .field = AGENT_FIELD(requests_refused) },
	{ .family = { "agent_files", COUNTER, NONE,
		      "Files of watched directories that were audited." },
	  .field = AGENT_FIELD(files_done) },
	{ .family = { "agent_cache_hits", COUNTER, NONE,
		      "Columns, snapshots and filters found in the cache." },
	  .field = AGENT_FIELD(cache_hits) },
	{ .family = { "agent_cache_misses", COUNTER, NONE,
		      "Columns, snapshots and filters not found in the cache." },
	  .field = AGENT_FIELD(cache_misses) },
	{ .family = { "agent_queued_audits", GAUGE, NONE, "Audits waiting or running." },
	  .field = AGENT_FIELD(queue) },
	{ .family = { "agent_clients", GAUGE, NONE, "Connections." },
	  .field = AGENT_FIELD(clients) },
	{ .family = { "agent_cache_bytes", GAUGE, BYTES,
		      "Memory of cached columns, snapshots and filters." },
	  .field = AGENT_FIELD(cache_bytes) },
	{ .family = { "agent_mirrors", GAUGE, NONE, "Filters currently mirrored." },
	  .field = AGENT_FIELD(mirrors) },
	{ .family = { "agent_mirror_copies", COUNTER, NONE,
		      "Times that a mirror was started by copying its filter." },
	  .field = AGENT_FIELD(mirror_copies) },
	{ .family = { "agent_audits_fallen_back", COUNTER, NONE,
		      "Audits that the GPU began and the CPU continued." },
	  .field = AGENT_FIELD(audits_fallen) },
	{ .family = { "agent_filters_held", GAUGE, NONE,
		      "Pure BPF filters whose epochs the agent ends." },
	  .field = AGENT_FIELD(holds) },
};

/* Families of clusters, with one sample for each. */
static const struct series cluster_series[] = {
	{ .family = { "cluster_covered", GAUGE, NONE,
		      "1 while \"absent\" is an answer for the whole cluster." },
	  .field = CLUSTER_FIELD(covered) },
	{ .family = { "cluster_joined", GAUGE, NONE, "1 while messages are received." },
	  .field = CLUSTER_FIELD(joined) },
	{ .family = { "cluster_saturated", GAUGE, NONE, "1 while the filter of all is saturated." },
	  .field = CLUSTER_FIELD(saturated) },
	{ .family = { "cluster_published_digests", COUNTER, NONE, "Digests published." },
	  .field = CLUSTER_FIELD(digests) },
	{ .family = { "cluster_published_messages", COUNTER, NONE, "Messages published." },
	  .field = CLUSTER_FIELD(messages) },
	{ .family = { "cluster_published_lost", COUNTER, NONE,
		      "Insertions that were not published." },
	  .field = CLUSTER_FIELD(lost) },
	{ .family = { "cluster_waiting_bytes", GAUGE, BYTES,
		      "Messages that are not acknowledged." },
	  .field = CLUSTER_FIELD(waiting_bytes) },
	{ .family = { "cluster_certificate_end_timestamp_seconds", GAUGE, SECONDS,
		      "When the certificate of this host ends, since 1970." },
	  .field = CLUSTER_FIELD(cert_end_ns),
	  .optional = true },
};

/* Families of the other hosts of clusters, likewise. */
static const struct series peer_series[] = {
	{ .family = { "cluster_peer_covered", GAUGE, NONE,
		      "1 while everything that the host inserted is here." },
	  .field = PEER_FIELD(covered) },
	{ .family = { "cluster_peer_behind_seconds", GAUGE, SECONDS,
		      "Age of what is here; no sample while nothing is." },
	  .field = PEER_FIELD(behind_ns),
	  .optional = true },
	{ .family = { "cluster_peer_digests", COUNTER, NONE, "Digests applied." },
	  .field = PEER_FIELD(digests) },
	{ .family = { "cluster_peer_messages", COUNTER, NONE, "Messages applied." },
	  .field = PEER_FIELD(messages) },
	{ .family = { "cluster_peer_gaps", COUNTER, NONE, "Times that messages were missing." },
	  .field = PEER_FIELD(gaps) },
	{ .family = { "cluster_peer_lost", COUNTER, NONE,
		      "Insertions that the host did not publish." },
	  .field = PEER_FIELD(lost) },
	{ .family = { "cluster_peer_refused", COUNTER, NONE, "Messages refused." },
	  .field = PEER_FIELD(refused) },
};

static const struct family up = { "up", GAUGE, NONE,
				  "1 if the module is loaded: its device exists." };
static const struct family readable = {
	"readable", GAUGE, NONE, "1 if the filters can be read; 0: no module, or no permission."
};
static const struct family version = { "build", INFO, NONE, "The version of the exporter." };
static const struct family filters = { "filters", GAUGE, NONE, "Number of filters." };
static const struct family filter_info = {
	"filter", INFO, NONE, "A filter: its id and the number of complete epochs in its window."
};
static const struct family fill = {
	"fill_ratio", GAUGE, RATIO,
	"Sampled share of an epoch's positions that are set, by its age in epochs."
};
static const struct family overdue = {
	"overdue", COUNTER, NONE,
	"Verdicts \"do not know\", counted in failed_open, because nobody ended the "
	"epochs of a pure BPF filter."
};
static const struct family audits = { "agent_audits", COUNTER, NONE, "Audits ended." };

_Static_assert(ARRAY_SIZE(filter_series) + 2 + EPF_EPOCHS == METRICS_OF_FILTER,
	       "say it in metrics.h and DESIGN");
_Static_assert(ARRAY_SIZE(agent_series) + 4 + 3 == METRICS_OTHERS,
	       "say it in metrics.h and DESIGN");
_Static_assert(ARRAY_SIZE(cluster_series) == METRICS_OF_CLUSTER &&
		       ARRAY_SIZE(peer_series) == METRICS_OF_PEER,
	       "say it in metrics.h and DESIGN");

/**
 * struct page - the page being written
 * @out: output
 * @format: text format
 * @bpf: the first pure BPF filter; those before it are the module's
 */
struct page {
	FILE *out;
	enum metrics_format format;
	const struct epf_info *bpf;
};

/* Write a name. Samples, and in format 0.0.4 all lines, have a suffix such as "_total". */
static void name(const struct page *p, const struct family *f, bool sample)
{
	if (p->format == METRICS_TEXT)
		sample = true;
	fprintf(p->out, "epochfilter_%s%s", f->name, sample ? suffixes[f->type] : "");
}

static void metrics_begin(const struct page *p, const struct family *f)
{
	bool old = p->format == METRICS_TEXT;

	fputs("# TYPE ", p->out);
	name(p, f, false);
	fprintf(p->out, " %s\n", type_names[old && f->type == INFO ? GAUGE : f->type]);
	if (f->unit && !old) {
		fputs("# UNIT ", p->out);
		name(p, f, false);
		fprintf(p->out, " %s\n", unit_names[f->unit]);
	}
	fputs("# HELP ", p->out);
	name(p, f, false);
	fprintf(p->out, " %s\n", f->help);
}

/* Names of the module need no escapes, but no other name may break the format. */
static void escaped(FILE *out, const char *text, size_t room)
{
	for (; room && *text; room--, text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text < ' ' || *text > '~' ? '?' : *text, out);
	}
}

/* Write the name of a sample of filter @i and its first labels. */
static void filter_sample(const struct page *p, const struct family *f, const struct epf_info *i)
{
	const char *kind = epf_kind_name(i->params.kind);

	name(p, f, true);
	fputs("{filter=\"", p->out);
	escaped(p->out, i->params.name, sizeof(i->params.name));
	fprintf(p->out, "\",kind=\"%s\"", kind ? kind : "unknown");
	if (i >= p->bpf)
		fputs(",backend=\"bpf\"", p->out);
}

static void value(const struct page *p, const struct family *f, __u64 v)
{
	if (f->unit == SECONDS)
		fprintf(p->out, " %llu.%09llu\n", v / NS_PER_SEC, v % NS_PER_SEC);
	else if (f->unit == RATIO)
		fprintf(p->out, " %llu.%012llu\n", v / EPF_RATE_ONE, v % EPF_RATE_ONE);
	else
		fprintf(p->out, " %llu\n", v);
}

static void single(const struct page *p, const struct family *f, __u64 v)
{
	metrics_begin(p, f);
	name(p, f, true);
	value(p, f, v);
}

static __u64 metrics_number(const void *of, const struct series *s)
{
	const void *at = (const char *)of + s->field.at;
	__u32 narrow;

	if (s->field.bytes == sizeof(__u64))
		return stats_read(at);
	memcpy(&narrow, at, sizeof(narrow));
	return s->mask ? !!(narrow & s->mask) : narrow;
}

static void write_series(const struct page *p, const struct series *s, const struct epf_info *info,
			 int nr)
{
	int i;

	metrics_begin(p, &s->family);
	for (i = 0; i < nr; i++) {
		__u64 v = metrics_number(&info[i], s);

		if (s->optional && !v)
			continue;
		filter_sample(p, &s->family, &info[i]);
		fputc('}', p->out);
		value(p, &s->family, v);
	}
}

static void write_fill(const struct page *p, const struct epf_info *info, int nr)
{
	int i, age;

	metrics_begin(p, &fill);
	for (i = 0; i < nr; i++)
		for (age = 0; age < EPF_EPOCHS; age++) {
			if (!info[i].epochs[age].epoch)
				continue;
			filter_sample(p, &fill, &info[i]);
			fprintf(p->out, ",age=\"%d\"}", age);
			value(p, &fill, info[i].epochs[age].fill_ppt);
		}
}

static void write_filter_info(const struct page *p, const struct epf_info *info, int nr)
{
	int i;

	metrics_begin(p, &filter_info);
	for (i = 0; i < nr; i++) {
		filter_sample(p, &filter_info, &info[i]);
		fprintf(p->out, ",id=\"%u\",epochs=\"%u\"}", info[i].id, info[i].window_epochs);
		value(p, &filter_info, 1);
	}
}

/* Filters of the module have no such counter. A filter destroyed meanwhile is left out. */
static void write_overdue(const struct page *p, const struct epf_info *info, int nr)
{
	const struct epf_info *i;
	__u64 v;

	if (!ebpf_overdue || p->bpf == info + nr)
		return;
	metrics_begin(p, &overdue);
	for (i = p->bpf; i < info + nr; i++) {
		if (ebpf_overdue(i->params.name, &v))
			continue;
		filter_sample(p, &overdue, i);
		fputc('}', p->out);
		value(p, &overdue, v);
	}
}

static void write_filters(const struct page *p, const struct epf_info *info, int nr)
{
	size_t i;

	single(p, &filters, (__u64)nr);
	write_filter_info(p, info, nr);
	for (i = 0; i < ARRAY_SIZE(filter_series); i++)
		write_series(p, &filter_series[i], info, nr);
	write_overdue(p, info, nr);
	write_fill(p, info, nr);
}

static void write_audits(const struct page *p, const char *result, __u64 v)
{
	name(p, &audits, true);
	fprintf(p->out, "{result=\"%s\"}", result);
	value(p, &audits, v);
}

static void write_agent(const struct page *p, const struct agent_stats *stats)
{
	size_t i;

	metrics_begin(p, &audits);
	write_audits(p, "done", stats_read(&stats->audits_done));
	write_audits(p, "failed", stats_read(&stats->audits_failed));
	write_audits(p, "cancelled", stats_read(&stats->audits_cancelled));
	for (i = 0; i < ARRAY_SIZE(agent_series); i++)
		single(p, &agent_series[i].family, metrics_number(stats, &agent_series[i]));
}

static void write_cluster_series(const struct page *p, const struct series *s,
				 const struct stats_cluster *all, int nr)
{
	int i;

	metrics_begin(p, &s->family);
	for (i = 0; i < nr; i++) {
		__u64 v = metrics_number(&all[i], s);

		if (s->optional && !v)
			continue;
		name(p, &s->family, true);
		fprintf(p->out, "{cluster=\"%s\"}", all[i].cluster);
		value(p, &s->family, v);
	}
}

static void write_peer_series(const struct page *p, const struct series *s,
			      const struct stats_peer *peers, unsigned int nr)
{
	unsigned int i;

	metrics_begin(p, &s->family);
	for (i = 0; i < nr; i++) {
		__u64 v = metrics_number(&peers[i], s);

		if (s->optional && !v)
			continue;
		name(p, &s->family, true);
		fprintf(p->out, "{cluster=\"%s\",host=\"%s\"}", peers[i].cluster, peers[i].host);
		value(p, &s->family, v);
	}
}

/* Names of clusters and hosts need no escapes: they are tokens of subjects. */
static void write_clusters(const struct page *p, const struct agent_stats *stats)
{
	struct stats_cluster *all = NULL;
	struct stats_peer *peers = NULL;
	unsigned int nr_peers = 0;
	size_t i;
	int nr;

	nr = stats->clusters ? stats->clusters(stats->clusters_of, &all, &peers, &nr_peers) : 0;
	for (i = 0; nr > 0 && i < ARRAY_SIZE(cluster_series); i++)
		write_cluster_series(p, &cluster_series[i], all, nr);
	for (i = 0; nr > 0 && i < ARRAY_SIZE(peer_series); i++)
		write_peer_series(p, &peer_series[i], peers, nr_peers);
	free(all);
	free(peers);
}

/* Return: 1; 0: the filter was destroyed meanwhile, or it can only be destroyed because
 * a swap was killed half-way; a negative errno.
 */
static int metrics_read_filter(int dev, __u32 id, struct epf_info *info)
{
	int filter = epf_dev_filter_id(dev, id);
	int err;

	if (filter < 0)
		return filter == -ENOENT || filter == -ENODEV ? 0 : filter;
	err = epf_filter_info(filter, info);
	epf_close(filter);
	if (err)
		return err == -ENODEV || err == -EUCLEAN ? 0 : err;
	info->users -= !!info->users; /* do not count our own descriptor */
	return 1;
}

/* Append the filters of @dev to the @nr in *@all, which the caller frees. Return: the
 * new number; a negative errno.
 */
static int add_filters(int dev, struct epf_info **all, int nr)
{
	__u32 *ids;
	int listed = epf_dev_list(dev, &ids), got = 0, i;
	struct epf_info *more;

	if (listed < 0)
		return listed;
	more = reallocarray(*all, (size_t)(nr + listed) + 1, sizeof(**all));
	if (more)
		*all = more;
	else
		got = -ENOMEM;
	for (i = 0; i < listed && got >= 0; i++) {
		got = metrics_read_filter(dev, ids[i], *all + nr);
		nr += got > 0;
	}
	free(ids);
	return got < 0 ? got : nr;
}

/* Read the filters of both backends; @of_module: how many are the module's. Those come
 * first.
 */
static int read_filters(int dev, struct epf_info **all, int *of_module)
{
	int nr = add_filters(dev, all, 0), second;

	*of_module = epf_is_module(dev) ? nr : 0;
	second = nr < 0 ? nr : epf_backend_second(dev);
	if (second < 0)
		return nr;
	nr = add_filters(second, all, nr);
	epf_close(second);
	return nr;
}

bool metrics_denied(int dev)
{
	return dev == -EACCES || dev == -EPERM;
}

static bool device_away(int err)
{
	return err == -ENOENT || err == -ENXIO || err == -ENODEV || err == -ENOTSUP;
}

int metrics_write(FILE *out, enum metrics_format format, int dev, const struct agent_stats *stats)
{
	struct page p = { .out = out, .format = format };
	struct epf_info *info = NULL;
	int of_module = 0;
	int nr = dev >= 0                                ? read_filters(dev, &info, &of_module) :
		 device_away(dev) || metrics_denied(dev) ? 0 :
							   dev;

	if (nr < 0) {
		free(info);
		return nr;
	}
	p.bpf = info + of_module;
	single(&p, &up, dev >= 0 ? epf_is_module(dev) : metrics_denied(dev));
	single(&p, &readable, dev >= 0);
	metrics_begin(&p, &version);
	name(&p, &version, true);
	fputs("{version=\"" EPF_VERSION "\"}", out);
	value(&p, &version, 1);
	if (dev >= 0)
		write_filters(&p, info, nr);
	if (stats) {
		write_agent(&p, stats);
		write_clusters(&p, stats);
	}
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", out);
	free(info);
	return 0;
}
