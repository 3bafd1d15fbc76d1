// SPDX-License-Identifier: GPL-2.0
/*
 * Kind tlbf in the kernel: the window law in time, slices that follow the rate,
 * memory that is not to be had, and what is refused. Laws hold however slow the
 * machine is: what may take its time is waited for.
 */
#include <epf/tlbf.h>

#include "epftest.h"

#define NAME "mod-tlbf"
#define SPAN (700 * MS) /* T */
#define K 5u
#define L 7u
#define TOTAL_MIB "/sys/module/epochfilter/parameters/max_total_mib"

static struct epf_params params(__u64 span_ns)
{
	struct epf_params p = test_params(NAME, 0, 0, 0, 0);

	p.kind = EPF_KIND_TLBF;
	p.mode = EPF_MODE_TIME;
	p.window_ns = span_ns;
	return p;
}

static struct epf_shape shape(__u64 words_max)
{
	struct epf_shape s = { 0 };

	s.tlbf.words_first = 16;
	s.tlbf.words_min = 16;
	s.tlbf.words_max = words_max;
	s.tlbf.k = K;
	s.tlbf.l = L;
	return s;
}

static int make(__u64 span_ns, __u64 words_max)
{
	struct epf_params p = params(span_ns);
	struct epf_shape s = shape(words_max);

	return test_make_kind(&p, &s);
}

/**
 * struct stream - keys inserted at a rate, in groups
 * @fd: filter
 * @groups: inserted so far
 * @size: keys of a group
 * @lost: of keys younger than T
 * @oldest: group that may still be asked for
 * @at: when a group's insertion was over
 */
struct stream {
	int fd;
	__u32 groups;
	__u32 size;
	__u64 lost;
	__u32 oldest;
	__u64 at[4096];
};

/* All groups that are younger than T once they have been asked for. */
static void check_window(struct stream *s)
{
	__u32 g;

	for (g = s->groups; g-- > s->oldest;) {
		long n = test_count(s->fd, 1, g * 1000ULL, s->size);

		if (test_now() - s->at[g] > SPAN) {
			s->oldest = g + 1;
			return;
		}
		s->lost += s->size - (__u64)n;
	}
}

/* For @ns: groups of @size keys, one each ms or as fast as it goes. */
static void run(struct stream *s, __u64 ns, __u32 size)
{
	__u64 end = test_now() + ns;

	s->size = size;
	s->oldest = s->groups;
	while (test_now() < end && s->groups < ARRAY_LEN(s->at)) {
		s->at[s->groups] = test_now();
		test_insert(s->fd, 1, s->groups * 1000ULL, size);
		s->groups++;
		if (s->groups % 16 == 0)
			check_window(s);
		test_sleep(MS);
	}
	check_window(s);
}

static bool settled(void *arg)
{
	struct epf_info info = test_info(*(int *)arg);

	return info.slices <= K + 1 && !info.covered_inserts;
}

static bool nothing_left(void *arg)
{
	struct stream *s = arg;

	return !test_count(s->fd, 1, (s->groups - 1) * 1000ULL, s->size);
}

#define RATE_POINTS 9
static void follows_the_rate(void)
{
	static struct stream s;
	struct epf_info few, many;

	s.fd = make(SPAN, 1 << 16);
	few = test_info(s.fd);
	tap_ok(few.slices == K && few.window_epochs == L &&
	       few.needs == (EPF_NEEDS_LOCK | EPF_NEEDS_WORKER |
			     EPF_NEEDS_MEMORY),
	       "made: %u slices, %llu bytes", few.slices, few.memory_bytes);
	run(&s, 3 * SPAN, 4);
	few = test_info(s.fd);
	test_is((long long)s.lost, 0, "a low rate: no key of the last T is lost, "
		"of %u groups", s.groups);
	run(&s, 3 * SPAN, 900);
	many = test_info(s.fd);
	test_is((long long)s.lost, 0, "two hundred times as much: none is lost");
	tap_ok(many.slices > K && many.memory_bytes > few.memory_bytes &&
	       many.stats.rotations > few.stats.rotations,
	       "%u slices, %llu bytes become %u, %llu", few.slices,
	       few.memory_bytes, many.slices, many.memory_bytes);
	tap_ok(many.covered_ns >= SPAN && many.covered_inserts > 0,
	       "covered: %llu ms, %llu insertions", many.covered_ns / MS,
	       many.covered_inserts);
	tap_ok(many.fpr_ppt < EPF_RATE_ONE / 2, "estimated error: %.3g",
	       (double)many.fpr_ppt / EPF_RATE_ONE);
	tap_ok(test_wait(nothing_left, &s), "silence: the keys go");
	tap_ok(test_wait(settled, &s.fd), "and so does the memory");
	many = test_info(s.fd);
	test_is(test_count(s.fd, 1, 0, 1000), 0, "%u slices are left, empty",
		many.slices);
	close(s.fd);
}

#define TURN_POINTS 4
static void turns(void)
{
	int fd = make(3600 * SEC, 1 << 16);
	struct epf_info info;

	test_insert(fd, 2, 0, 100);
	test_is(test_count(fd, 2, 0, 100), 100, "of an hour: all there");
	test_demand(!epf_filter_rotate(fd, L - 1, NULL));
	test_is(test_count(fd, 2, 0, 100), 100,
		"an hour less one generation on: still there");
	test_demand(!epf_filter_clear(fd));
	test_is(test_count(fd, 2, 0, 100), 0, "cleared: gone");
	info = test_info(fd);
	tap_ok(!info.covered_inserts && info.covered_ns < 3600 * SEC,
	       "and covered is nothing before that");
	close(fd);
}

/* Another filter has all but 128 KiB of the memory there may be. */
#define OTHER_LINES (896u * 1024 / 64)
#define SHORT_POINTS 4
static void short_of_memory(void)
{
	static struct stream s;
	struct epf_params other = test_params("mod-tlbf-other", OTHER_LINES, 1,
					      5, 1000);
	long long before = test_number(TOTAL_MIB, "");
	char text[32];
	struct epf_info info;

	memset(&s, 0, sizeof(s));
	close(test_make(&other));
	s.fd = make(SPAN, 1ULL << 32);
	test_demand(!test_write(TOTAL_MIB, "1"));
	run(&s, 2 * SPAN, 1000);
	info = test_info(s.fd);
	tap_ok(info.memory_bytes <= 128 << 10 && info.waits,
	       "%llu bytes within 128 KiB, %u times no more", info.memory_bytes,
	       info.waits);
	test_is((long long)s.lost, 0, "no key is lost");
	snprintf(text, sizeof(text), "%lld", before);
	test_demand(!test_write(TOTAL_MIB, text));
	run(&s, 3 * SPAN, 1000);
	test_is((long long)s.lost, 0, "nor when there is memory again");
	tap_ok(test_info(s.fd).memory_bytes > info.memory_bytes,
	       "which it takes: %llu bytes", test_info(s.fd).memory_bytes);
	close(s.fd);
}

#define BAD_POINTS 8
static void refused(void)
{
	static const struct {
		const char *what;
		__u64 first, min, max;
		__u32 k, l;
	} bad[] = {
		{ "no slice a key", 16, 16, 64, 0, 7 },
		{ "no generation", 16, 16, 64, 5, 0 },
		{ "too many slices", 16, 16, 64, 64, 65 },
		{ "first below min", 15, 16, 64, 5, 7 },
		{ "first above max", 65, 16, 64, 5, 7 },
		{ "slices too large", 16, 16, (1ULL << 32) + 1, 5, 7 },
		{ "min below k keys", 1, 0, 64, 5, 7 },
	};
	struct epf_params p = params(SPAN);
	struct epf_shape s;
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		memset(&s, 0, sizeof(s));
		s.tlbf.words_first = bad[i].first;
		s.tlbf.words_min = bad[i].min;
		s.tlbf.words_max = bad[i].max;
		s.tlbf.k = bad[i].k;
		s.tlbf.l = bad[i].l;
		p.name[0] = 'x';
		test_is(epf_dev_create_kind(test_dev, &p, &s, NULL, NULL),
			-EINVAL, "refused: %s", bad[i].what);
	}
	p.mode = EPF_MODE_COUNT;
	p.window_ns = 0;
	p.window_inserts = 100;
	s = shape(64);
	test_is(epf_dev_create_kind(test_dev, &p, &s, NULL, NULL), -EINVAL,
		"refused: a window of insertions");
}

int main(void)
{
	test_begin(RATE_POINTS + TURN_POINTS + SHORT_POINTS + BAD_POINTS);
	follows_the_rate();
	turns();
	short_of_memory();
	refused();
	return test_end();
}
