// SPDX-License-Identifier: GPL-2.0
/* The paper's three workloads and its three kinds of queries. */
#define EPF_PRIVATE

#include "../clock.h"
#include "ge.h"

#define STREAM_WINDOWS 6 /* 120,000 insertions, a window of 20,000 */

const char *const workload_name[] = { "uniform", "zipf", "bursty" };

/* The paper's median rows have the error of distinct keys. So at least two of the three
 * workloads hardly repeat a key: 7 % of repeats would reduce .0222 to .014.
 */
enum { BURST = 64, ZIPF_KEYS = 1 << 20 };
#define ZIPF_EXPONENT 1.1
const char workload_note[] =
	"inferred: uniform 64-bit keys; Zipf exponent 1.1 over 2^20 keys; bursts of 64 consecutive numbers";

__u64 draw(unsigned int what, unsigned int seed, __u64 n)
{
	return epf_word(epf_word(what * 1000003ULL + seed, 5) + n, 6);
}

__u64 key_digest(__u64 key, unsigned int seed)
{
	struct epf_hash h = { { 0x6765, seed }, 0, { 0 } };

	return epf_digest_words(&h, key, 0, 8);
}

/* Rank of a key, by inverting the continuous distribution function. */
static __u64 zipf(__u64 random)
{
	double u = (double)(random >> 11) / (double)(1ULL << 53);
	double e = 1 - ZIPF_EXPONENT;

	return (__u64)pow(1 + u * (pow(ZIPF_KEYS, e) - 1), 1 / e);
}

void stream_synthetic(struct stream *s, unsigned int workload, unsigned int seed, __u64 window)
{
	__u64 n;

	*s = (struct stream){ workload_name[workload], NULL, STREAM_WINDOWS * window, window };
	s->key = malloc(s->keys * sizeof(*s->key));
	if (!s->key)
		exit(1);
	for (n = 0; n < s->keys; n++) {
		if (workload == 0)
			s->key[n] = draw(DRAW_UNIFORM, seed, n);
		else if (workload == 1)
			s->key[n] = zipf(draw(DRAW_ZIPF, seed, n));
		else
			s->key[n] = draw(DRAW_BURSTY, seed, n / BURST) + n % BURST;
	}
}

void stream_free(struct stream *s)
{
	free(s->key);
}

static int by_value(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return (x > y) - (x < y);
}

/* Keep, in place, the keys of the previous window that are not in the window. */
static __u64 expired(const struct stream *s, __u64 **keys)
{
	__u64 w = s->window, n, kept = 0;
	const __u64 *last = s->key + s->keys - w;
	__u64 *live = malloc(w * sizeof(*live));

	*keys = malloc(w * sizeof(**keys));
	if (!live || !*keys)
		exit(1);
	memcpy(live, last, w * sizeof(*live));
	qsort(live, w, sizeof(*live), by_value);
	for (n = 0; n < w; n++)
		if (!bsearch(&last[n - w], live, w, sizeof(*live), by_value))
			(*keys)[kept++] = last[n - w];
	free(live);
	return kept;
}

/* Number found of @n queries drawn from @keys; if that is NULL, of keys never inserted. */
static __u64 found(const struct filter *f, unsigned int what, unsigned int seed, const __u64 *keys,
		   __u64 of, __u64 n)
{
	__u64 i, hits = 0;

	for (i = 0; i < n; i++) {
		__u64 random = draw(what, seed, i);
		__u64 key = keys ? keys[epf_mulhi(random, of)] : random;

		hits += filter_test(f, key_digest(key, seed));
	}
	return hits;
}

struct score filter_score(struct filter *f, const struct stream *s, unsigned int seed,
			  __u64 queries)
{
	struct score score = { .asked = queries };
	__u64 *old, n, w = s->window, olds = expired(s, &old);

	for (n = 0; n < s->keys; n++)
		filter_insert(f, key_digest(s->key[n], seed));
	score.seconds = -cpu_s();
	score.fn = queries - found(f, DRAW_LIVE, seed, s->key + s->keys - w, w, queries);
	score.fp = found(f, DRAW_FRESH, seed, NULL, 0, queries);
	score.expired = olds ? queries : 0;
	score.stale = found(f, DRAW_EXPIRED, seed, old, olds, score.expired);
	score.seconds += cpu_s();
	free(old);
	return score;
}
