/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time-limited filters under streams of keys: what the parts of the section
 * share. Times are in units of T where they are double, in ns elsewhere.
 */
#ifndef PAPER_TLBF_H
#define PAPER_TLBF_H

#include <kinds/tlbf.h>

#include "paper.h"

#define SPAN 60000000000ULL /* T; only ratios of times matter */
#define BEGIN (2 * SPAN)    /* then what was never updated is older than T */

/**
 * struct sight - what a filter is at a moment: at regular ones, when a shift is
 *	due, and with the first key after it
 * @time: since the beginning, of T
 * @slices: held
 * @slice0: bits of the youngest
 * @words: of all
 * @bits_per_key: @words in bits, over the keys all whose k slices are held
 * @error: predicted, from the keys each slice has
 */
struct sight {
	double time;
	__u32 slices;
	__u64 slice0;
	__u64 words;
	double bits_per_key;
	double error;
};

/**
 * struct flow - a filter and the keys it got
 * @o: filter
 * @now: time, ns
 * @seed: of the keys, key n being epf_word(@seed, n)
 * @keys: so far
 * @first: of the window; only as of the last look
 * @lost: keys of the window that were not found, where one was looked for
 * @at: times of the keys, of @keys_max
 * @seen: sights, of @seen_max
 * @nr_seen: so many
 * @next: when the next regular sight is due
 * @every: ns from one to the next
 * @asked: queries for keys never inserted, so far
 * @shifted: since the last key
 * @blind: look for no keys
 */
struct flow {
	struct epf_tlbf_owner o;
	__u64 now;
	__u64 seed;
	__u32 keys, keys_max;
	__u32 first;
	__u32 lost;
	__u64 *at;
	struct sight *seen;
	__u32 nr_seen, seen_max;
	__u64 next, every;
	__u64 asked;
	bool shifted, blind;
};

/* A filter without keys. The paper's rules keep k + l slices. */
struct epf_tlbf_shape flow_shape(unsigned int k, unsigned int l, bool timed, double keys);
void flow_open(struct flow *f, const struct epf_tlbf_shape *shape, unsigned int sights);
void flow_close(struct flow *f);

/* Insert the next key now; before it look for the oldest key of the window and a
 * random one.
 */
void flow_put(struct flow *f);

/* @rate keys in T at even intervals, for @spans T. */
void flow_drive(struct flow *f, double spans, double rate);

/* No key comes for @spans T; the owner does, 16 times in T. */
void flow_idle(struct flow *f, double spans);

/* Keys never inserted that are found, of @queries. */
__u64 flow_false(struct flow *f, __u64 queries);

/* Since the beginning, in T. */
double flow_time(const struct flow *f);

/* Least and most of what sights at @from to @to say. */
struct range {
	double low, high;
};
struct range flow_range(const struct flow *f, double from, double to,
			double (*of)(const struct sight *s));

/* Since when all is in that range, but for a share of @slack. */
double flow_settled(const struct flow *f, struct range r, double slack,
		    double (*of)(const struct sight *s));

double sight_slices(const struct sight *s);
double sight_slice0(const struct sight *s);
double sight_words(const struct sight *s);
double sight_bits(const struct sight *s);
double sight_error(const struct sight *s);

/* The pairs of k and l by which such filters are told apart: five for each
 * error, by increasing k; Table 2 of the paper on age-partitioned filters.
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
