/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Duplicate removal on capture files: request and result. */
#ifndef EPFCTL_DEDUP_H
#define EPFCTL_DEDUP_H

#include "capture_out.h"
#include "cmd.h"
#include "common/pktopts.h"

enum dedup_method { METHOD_ANY, METHOD_EXACT, METHOD_FILTER };

/**
 * struct dedup_ask - the request
 * @in: capture to read, "-": standard input
 * @out: capture to write, "-": standard output
 * @removed: capture for the repeats, or NULL
 * @format: -1: by the suffix of the output names, otherwise that of the input
 * @window: packets; 0: the window is @time_ns
 * @time_ns: on the packets' own clock; 0: the window is @window
 * @pps: packets per second to size for; 0: read the file first to find out
 * @method: a table of all keys, or a filter
 * @budget: error rate of the filter
 * @max_bytes: memory limit
 * @key: what makes packets the same; its link is filled in from the capture
 * @inner: compare the innermost packet of MPLS, VXLAN and GRE
 * @masks: MASK_* of dedup_view.h: fields that do not count
 * @ignore: first bytes of a frame that do not count
 * @after_ns: leave out packets with a time stamp below, ns since 1970
 * @before_ns: leave out packets with this time stamp or a later one; 0: none
 * @first_seen: a repeat does not restart the window of its key
 * @strict: SipHash-2-4
 * @count_only: report repeats and keep them
 * @keep_going: treat damage in a capture as its end
 */
struct dedup_ask {
	const char *in;
	const char *out;
	const char *removed;
	int format;
	__u64 window;
	__u64 time_ns;
	double pps;
	enum dedup_method method;
	double budget;
	__u64 max_bytes;
	struct epf_pkt_opts key;
	bool inner;
	unsigned int masks;
	__u32 ignore;
	__u64 after_ns;
	__u64 before_ns;
	bool first_seen;
	bool strict;
	bool count_only;
	bool keep_going;
};

/**
 * struct dedup_result - the result
 * @read: packets read
 * @outside: packets left out because of their time stamps, not counted in @read
 * @cut: packets read that were captured only in part
 * @kept: packets written to the output
 * @repeats: packets read that were seen before inside the window
 * @truncated: kept because the key's bytes were not captured
 * @malformed: kept because a header contradicts itself
 * @not_ip: kept because only IP packets have this key
 * @fragments: kept because only the first of a datagram has this key
 * @unsure: kept, although a forgotten packet may have been equal
 * @inner: packets read that were compared without outer headers
 * @undated: with a time window: kept because the time stamp is outside 1970 to
 *	2554
 * @clock_back: time stamps older than that of the previous packet or, with a
 *	filter, than the latest one that its clock accepted
 * @clock_back_ns: the largest step back
 * @clock_ahead: with a filter: jumps ahead that the next packet did not confirm
 * @exact: the method was exact
 * @held: if @exact: keys held at the end
 * @bytes: peak memory of the method
 * @planned: plan of the filter
 * @info: of the filter at the end
 * @loss: what the outputs cannot express
 * @took_ns: time from opening to closing
 * @damaged: where reading ended early; empty: it did not
 */
struct dedup_result {
	__u64 read;
	__u64 outside;
	__u64 cut;
	__u64 kept;
	__u64 repeats;
	__u64 truncated;
	__u64 malformed;
	__u64 not_ip;
	__u64 fragments;
	__u64 unsure;
	__u64 inner;
	__u64 undated;
	__u64 clock_back;
	__u64 clock_back_ns;
	__u64 clock_ahead;
	bool exact;
	__u64 held;
	__u64 bytes;
	struct epf_planned planned;
	struct epf_info info;
	struct capture_loss loss;
	__u64 took_ns;
	char damaged[CAPTURE_WHY_BYTES];
};

/* dedup.c. Return: 0, or EXIT_FAIL with an error printed and nothing left. */
int dedup_run(struct dedup_ask *ask, struct dedup_result *result);

/* dedup_report.c */
void dedup_print(const struct dedup_ask *ask, const struct dedup_result *r);
json_t *dedup_json(const struct dedup_ask *ask, const struct dedup_result *r);

#endif /* EPFCTL_DEDUP_H */
