/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Token buckets and meters of a rate, each a 64-bit word that several CPUs share. Pure
 * functions; any context; no division on the packet path.
 *
 * The word is a point in time, in ticks of 1/16 ns: when the bucket is full again, or when
 * the meter is at rest (the "theoretical arrival time" of GCRA, ITU-T I.371, annex A). A
 * token moves it by its cost. So time refills the bucket without any write to the word, and
 * an idle bucket needs no care.
 *
 * Bucket: in any interval of t ticks at most (limit + t) / cost tokens are taken, in
 * whatever order CPUs see the clock, and even if the clock goes backwards (t: from the
 * lowest reading to the highest). A token that is there is refused only if EPF_BUCKET_TRIES
 * other CPUs took one in between.
 *
 * Meter: its level rises with every packet, falls with time, and stays between 0 and top.
 * The rate is exceeded while the level exceeds the limit. The distance from top down to the
 * limit is the hysteresis. A clock that goes backwards cannot lift the level over top.
 *
 * Comparisons are of differences, so words may wrap: a word that nobody has moved is right
 * for 2^59 ns, 18 years.
 */
#ifndef EPF_BUCKET_H
#define EPF_BUCKET_H

#include "shim.h"

#define EPF_BUCKET_TICKS 16ULL /* per nanosecond */
#define EPF_BUCKET_SECOND (1000000000ULL * EPF_BUCKET_TICKS)
#define EPF_BUCKET_RATE_MAX 1000000000ULL
#define EPF_BUCKET_BURST_MAX 100000000ULL
#define EPF_BUCKET_TRIES 8

/**
 * struct epf_bucket - parameters that interpret a word
 * @rate: tokens per second; 0: taken tokens never come back
 * @burst: tokens that a full bucket holds
 * @cost: ticks of a token, rounded up; 1 if @rate is 0
 * @limit: ticks of @burst
 * @top: the highest level of a meter, in ticks
 * @runs: all bits; or none if @rate is 0: time stands still then
 */
struct epf_bucket {
	__u64 rate;
	__u64 burst;
	__u64 cost;
	__u64 limit;
	__u64 top;
	__u64 runs;
};

/**
 * epf_bucket_init() - set up a bucket, or a meter that leaves its state at half its level
 * @b: result
 * @rate: 0 .. EPF_BUCKET_RATE_MAX
 * @burst: 0 .. EPF_BUCKET_BURST_MAX; with a rate at least 1
 *
 * Return: false: out of range.
 */
EPF_FN bool epf_bucket_init(struct epf_bucket *b, __u64 rate, __u64 burst)
{
	if (rate > EPF_BUCKET_RATE_MAX || burst > EPF_BUCKET_BURST_MAX || (rate && !burst))
		return false;
	b->rate = rate;
	b->burst = burst;
	b->cost = rate ? (EPF_BUCKET_SECOND + rate - 1) / rate : 1;
	b->limit = burst * b->cost;
	b->top = burst ? 2 * b->limit : b->cost;
	b->runs = rate ? ~0ULL : 0;
	return true;
}

/* The time @ns, in ticks. */
EPF_FN __u64 epf_bucket_now(const struct epf_bucket *b, __u64 ns)
{
	return ns * EPF_BUCKET_TICKS & b->runs;
}

/* The ticks from @now until @word; 0 if @word is in the past. */
EPF_FN __u64 epf_bucket_ahead(__u64 word, __u64 now)
{
	__u64 ahead = word - now;

	return ahead >> 63 ? 0 : ahead;
}

/* Take a token at @now ticks. Return: false: there is none. */
EPF_FN bool epf_bucket_take(const struct epf_bucket *b, __u64 *word, __u64 now)
{
	__u64 old = epf_load(word), used;
	int i;

	EPF_UNROLL
	for (i = 0; i < EPF_BUCKET_TRIES; i++) {
		used = epf_bucket_ahead(old, now) + b->cost;
		if (used > b->limit)
			return false;
		if (epf_cas(word, &old, now + used))
			return true;
	}
	return false;
}

/* Count @n packets, up to 2^16, at @now ticks. Return: false: they are not counted, because
 * other CPUs always came first.
 */
EPF_FN bool epf_meter_add(const struct epf_bucket *b, __u64 *word, __u64 now, __u64 n)
{
	__u64 old = epf_load(word), level;
	int i;

	EPF_UNROLL
	for (i = 0; i < EPF_BUCKET_TRIES; i++) {
		level = epf_bucket_ahead(old, now) + n * b->cost;
		if (level > b->top)
			level = b->top;
		if (epf_cas(word, &old, now + level))
			return true;
	}
	return false;
}

/* Is the incoming rate above the limit? */
EPF_FN bool epf_meter_above(const struct epf_bucket *b, const __u64 *word, __u64 now)
{
	return epf_bucket_ahead(epf_load(word), now) > b->limit;
}

/**
 * epf_meter_slice() - how many packets a CPU may count for itself before it adds them
 * @b: meter
 * @cpus: number of CPUs that add
 *
 * All CPUs together keep at most a quarter of the burst, which bounds the error of the
 * level.
 *
 * Return: 1 .. 65536.
 */
EPF_FN __u32 epf_meter_slice(const struct epf_bucket *b, __u32 cpus)
{
	__u64 slice = 1 + b->burst / (4 * (__u64)cpus);

	return slice < 65536 ? (__u32)slice : 65536;
}

#endif /* EPF_BUCKET_H */
