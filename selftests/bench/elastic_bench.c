// SPDX-License-Identifier: GPL-2.0
/*
 * Elastic lines at one size: the error at the worst phase, and what an insertion
 * and a test cost in one thread.
 *
 *   elastic_bench [KIB]	filters of KIB, 1024 by itself
 *
 * Each filter lives through three windows of distinct keys, so that the widths
 * are those of a long life, and then through EPOCHS epochs more. Insertions are
 * timed over a whole epoch, which has all that they cost: dropped groups and
 * narrowing. Tests are timed in the last moment of an epoch, when lines hold the
 * most. The time is that of the thread's CPU, the least of EPOCHS. Errors are of
 * all epochs together. A key inserted in the last W that is not found is an
 * error of the filter: exit 1.
 */
#define EPF_PRIVATE
#include <epf/elastic.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WARM 24
#define EPOCHS 16
#define QUERIES 100000u

struct result {
	double fpr, insert_ns, absent_ns, present_ns;
	__u64 lost;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void least(double *ns, double begin, __u64 n)
{
	double took = (now_ns() - begin) / (double)n;

	if (!*ns || took < *ns)
		*ns = took;
}

/* Key @i of those inserted, or of those never inserted. */
static __u64 key_of(__u64 i, bool inserted)
{
	return epf_word(i, inserted ? 1 : 2);
}

static __u64 hits(const struct epf_elastic *f, __u64 from, __u64 n,
		  bool inserted)
{
	__u64 i, found = 0;

	for (i = from; i < from + n; i++)
		found += epf_elastic_test(f, key_of(i, inserted)) != EPF_ABSENT;
	return found;
}

static void epoch(struct epf_elastic *f, struct result *r, __u64 e, __u64 keys)
{
	__u64 i, past = 7 * keys;
	double begin = now_ns();

	for (i = e * keys; i < (e + 1) * keys; i++)
		epf_elastic_insert(f, key_of(i, true));
	if (e >= WARM) {
		least(&r->insert_ns, begin, keys);
		begin = now_ns();
		r->fpr += (double)hits(f, e * QUERIES, QUERIES, false) /
			  QUERIES / EPOCHS;
		least(&r->absent_ns, begin, QUERIES);
		begin = now_ns();
		r->lost += past - hits(f, (e + 1) * keys - past, past, true);
		least(&r->present_ns, begin, past);
	}
	epf_elastic_rotate(f);
}

static struct result bench(__u64 bytes, __u32 line_words, double bits)
{
	struct epf_elastic_shape s = { bytes / 8 / line_words, line_words, 7 };
	struct epf_elastic f = { .word = aligned_alloc(64, bytes) };
	struct result r = { 0 };
	__u64 e;

	if (!f.word || epf_elastic_init(&f, &s)) {
		fprintf(stderr, "error: no filter of %llu bytes\n", bytes);
		exit(2);
	}
	memset(f.word, 0, bytes);
	for (e = 0; e < WARM + EPOCHS; e++)
		epoch(&f, &r, e, (__u64)((double)bytes * 8 / bits / 7));
	free(f.word);
	return r;
}

int main(int argc, char **argv)
{
	static const double bits[] = { 12, 14, 16, 20 };
	__u64 bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1024) << 10;
	__u64 lost = 0;
	__u32 words;
	int i;

	printf("%llu KiB, r=7\nline  bits/key  error    insert  absent  present  lost\n",
	       bytes >> 10);
	for (words = 16; words >= 8; words /= 2)
		for (i = 0; i < 4; i++) {
			struct result r = bench(bytes, words, bits[i]);

			printf("%3u B %6g    %.5f %5.0f ns %4.0f ns %5.0f ns %5llu\n",
			       words * 8, bits[i], r.fpr, r.insert_ns,
			       r.absent_ns, r.present_ns, r.lost);
			lost += r.lost;
		}
	return lost ? 1 : 0;
}
