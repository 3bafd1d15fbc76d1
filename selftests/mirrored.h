/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks that a mirror equals a fresh copy of its filter, bit by bit, while
 * nothing inserts. Epochs may end meanwhile.
 */
#ifndef EPF_SELFTESTS_MIRRORED_H
#define EPF_SELFTESTS_MIRRORED_H

#include <epf/lanes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "copy.h"
#include "mirror.h"

/* Differences between a mirror and a fresh copy. */
struct mirrored {
	long ret;      /* result of the follow, or -errno */
	__u64 words;   /* words that differ */
	__u64 set;     /* words that are not zero */
	int counts;    /* epochs whose insertion counts differ */
	int starts;    /* epochs whose start times differ */
	__s64 inserts; /* surplus of the mirror; negative: some insertions were
			 * under way when it was made
			 */
	struct epf_snap_header fresh, mirror;
};

static inline __u64 mirrored_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000 + (__u64)ts.tv_nsec;
}

/* Return: a copy of the lines at @from (those of @v, or mapped ones), swept as
 * of @v's epoch.
 */
static inline struct epf_line *mirrored_settled(const struct epf_view *v,
						const struct epf_line *from)
{
	__u64 n = epf_geom_lines(&v->geom), epoch = v->epoch;
	struct epf_line *line = aligned_alloc(64, n * EPF_LINE_BYTES);
	struct epf_lanes f = { line, &epoch, v->geom };

	if (!line)
		abort();
	epf_copy_words(line, from, n * EPF_LINE_BYTES);
	epf_lanes_scan(&f, 0, n);
	return line;
}

static inline void mirrored_lines(struct mirrored *d, const struct epf_view *v,
				  const struct epf_line *from)
{
	struct epf_line *a = mirrored_settled(v, v->lines);
	struct epf_line *b = mirrored_settled(v, from);
	__u64 i;

	for (i = 0; i < epf_geom_lines(&v->geom) * EPF_LANES; i++) {
		d->words += ((__u64 *)a)[i] != ((__u64 *)b)[i];
		d->set += ((__u64 *)b)[i] != 0;
	}
	free(a);
	free(b);
}

/* The start of an epoch is known to within the time between the two headers. */
static inline void mirrored_headers(struct mirrored *d, __u64 took)
{
	__s64 more;
	int i;

	for (i = 0; i < EPF_EPOCHS; i++) {
		d->counts += d->mirror.epochs[i].inserts != d->fresh.epochs[i].inserts;
		more = (__s64)(d->mirror.epochs[i].age_ns - d->fresh.epochs[i].age_ns);
		d->starts += more < -(__s64)took || more > (__s64)took;
	}
	d->inserts = (__s64)(d->mirror.inserts - d->fresh.inserts);
}

/* Follow, and compare with a copy made while rotation is blocked. Return: are
 * both equal, and at the same epoch?
 */
static inline bool mirrored_equal(int fd, struct epf_mirror *m, struct mirrored *d)
{
	struct epf_snap s = { .size = sizeof(s), .pin_ns = EPF_PIN_MAX_NS };
	struct epf_snap end = { .size = sizeof(end) };
	__u64 start = mirrored_now();
	struct epf_view v;
	void *from;

	memset(d, 0, sizeof(*d));
	if (ioctl(fd, EPF_IOC_SNAP_BEGIN, &s))
		abort();
	d->ret = epf_mirror_follow(m);
	epf_mirror_view(m, &v);
	epf_mirror_header(m, &d->mirror);
	from = mmap(NULL, epf_geom_lines(&v.geom) * EPF_LINE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (from == MAP_FAILED)
		abort();
	mirrored_lines(d, &v, from);
	munmap(from, epf_geom_lines(&v.geom) * EPF_LINE_BYTES);
	if (ioctl(fd, EPF_IOC_SNAP_END, &end))
		abort();
	d->fresh = end.header;
	mirrored_headers(d, mirrored_now() - start);
	return d->ret >= 0 && !d->words && !d->counts && !d->starts && d->inserts <= 0 &&
	       v.epoch == end.header.epoch_end;
}

static inline void mirrored_tell(const struct mirrored *d)
{
	printf("# follow %ld; %llu of %llu words differ, %d counts, %d starts; %lld insertions more; epoch %llu, of the filter %llu\n",
	       d->ret, d->words, d->set, d->counts, d->starts, d->inserts, d->mirror.epoch_end,
	       d->fresh.epoch_end);
}

#endif /* EPF_SELFTESTS_MIRRORED_H */
