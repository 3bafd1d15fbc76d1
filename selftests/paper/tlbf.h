/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Section tlbf: time-limited filters under streams of keys; declarations that the parts of
 * the section share. Times are in units of T if they are double, else in ns.
 */
#ifndef PAPER_TLBF_H
#define PAPER_TLBF_H

#include <kinds/tlbf.h>

#include "paper.h"

#define SPAN 60000000000ULL /* T; only ratios of times matter */
#define BEGIN (2 * SPAN)    /* so that a slot that was never updated is older than T */

/**
 * struct sample - the state of a filter at a moment; taken at regular intervals, when a
 * shift is due, and with the first key after it
 * @time: since the beginning, in T
 * @slices: number of slices
 * @slice0: bits of the youngest slice
 * @words: of all slices
 * @bits_per_key: @words in bits, divided by the number of keys whose k slices are all held
 * @error: predicted, from the number of keys in each slice
 */
struct sample {
	double time;
	__u32 slices;
	__u64 slice0;
	__u64 words;
	double bits_per_key;
	double error;
};

/**
 * struct flow - a filter and the keys that it got
 * @o: filter
 * @now: time, ns
 * @seed: key n is epf_word(@seed, n)
 * @keys: number of keys so far
 * @first: first key of the window, as of the last check
 * @lost: keys of the window that a check did not find
 * @at: time of each key; room for @keys_max
 * @seen: samples; room for @seen_max
 * @nr_seen: number of samples
 * @next: when the next regular sample is due
 * @every: ns between regular samples
 * @asked: queries for keys never inserted, so far
 * @shifted: there was a shift since the last key
 * @blind: check no keys
 */
struct flow {
	struct epf_tlbf_owner o;
	__u64 now;
	__u64 seed;
	__u32 keys, keys_max;
	__u32 first;
	__u32 lost;
	__u64 *at;
	struct sample *seen;
	__u32 nr_seen, seen_max;
	__u64 next, every;
	__u64 asked;
	bool shifted, blind;
};

/* A filter without keys. With the paper's rules it keeps k + l slices. */
struct epf_tlbf_shape flow_shape(unsigned int k, unsigned int l, bool timed, double keys);
void flow_open(struct flow *f, const struct epf_tlbf_shape *shape, unsigned int samples);
void flow_close(struct flow *f);

/* Insert the next key now. Before that, check that the oldest key of the window and a
 * random one are found.
 */
void flow_put(struct flow *f);

/* Insert @rate keys per T at even intervals, for @spans T. */
void flow_drive(struct flow *f, double spans, double rate);

/* No key arrives for @spans T; the worker runs 16 times per T. */
void flow_idle(struct flow *f, double spans);

/* Number of keys found among @queries keys never inserted. */
__u64 flow_false(struct flow *f, __u64 queries);

/* Time since the beginning, in T. */
double flow_time(const struct flow *f);

/* Least and largest value in the samples from @from to @to. */
struct range {
	double low, high;
};
struct range flow_range(const struct flow *f, double from, double to,
			double (*of)(const struct sample *s));

/* The time from which all samples are in that range, extended by a share of @slack. */
double flow_settled(const struct flow *f, struct range r, double slack,
		    double (*of)(const struct sample *s));

double sample_slices(const struct sample *s);
double sample_slice0(const struct sample *s);
double sample_words(const struct sample *s);
double sample_bits(const struct sample *s);
double sample_error(const struct sample *s);

/* Pairs of k and l that represent such filters: five for each error, by increasing k; Table
 * 2 of the paper on age-partitioned filters.
 */
#define ERRORS 5
#define PAIRS 5
struct pairs {
	char error[16]; /* as printed */
	unsigned int k[PAIRS], l[PAIRS];
};
extern struct pairs tlbf_pairs[ERRORS];

void tlbf_figures(const struct paper *p);
void tlbf_beyond(const struct paper *p);

#endif /* PAPER_TLBF_H */
