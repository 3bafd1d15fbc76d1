/* SPDX-License-Identifier: GPL-2.0 */
/* Duplicate removal on capture files: what is asked, and what came of it. */
#ifndef EPFCTL_DEDUP_H
#define EPFCTL_DEDUP_H

#include "capture_out.h"
#include "cmd.h"
#include "common/pktopts.h"

enum dedup_method { METHOD_ANY, METHOD_EXACT, METHOD_FILTER };

/**
 * struct dedup_ask - what is asked
 * @in: capture to read, "-": standard input
 * @out: capture to write, "-": standard output
 * @removed: capture for the repeats, or NULL
 * @format: -1: as the names end, else as the input is
 * @window: packets; 0: the window is @time_ns
 * @time_ns: on the packets' own clock; 0: the window is @window
 * @pps: packets per second to size for; 0: look at the file first
 * @method: a table of all keys, or a filter
 * @budget: error rate of the filter
 * @max_bytes: memory limit
 * @key: what makes packets the same; its link is filled in from the capture
 * @first_seen: a repeat does not restart the window of its key
 * @strict: SipHash-2-4
 * @count_only: report repeats and keep them
 * @keep_going: a damaged capture counts as one that ends there
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
	bool first_seen;
	bool strict;
	bool count_only;
	bool keep_going;
};

/**
 * struct dedup_result - what came of it
 * @read: packets
 * @cut: of them captured in part
 * @kept: written to the output
 * @repeats: of them seen before inside the window
 * @truncated: kept because the key's bytes were not captured
 * @malformed: kept because a header contradicts itself
 * @not_ip: kept because only IP packets have this key
 * @fragments: kept because only the first of a datagram has this key
 * @unsure: kept, though a packet that was forgotten might equal it
 * @undated: with a window in time, kept because their stamps are outside of
 *	1970 to 2554
 * @clock_back: time stamps older than that of the packet before; with a filter,
 *	than the latest one that its clock has taken
 * @clock_back_ns: the largest step back
 * @clock_ahead: with a filter, stamps too far ahead that none followed
 * @exact: the method was exact
 * @held: with it, keys held at the end
 * @bytes: memory that the method took at most
 * @planned: what a filter was made as
 * @info: of it at the end
 * @loss: what the outputs have no room for
 * @took_ns: from opening to closing
 * @damaged: where reading ended early; empty: it did not
 */
struct dedup_result {
	__u64 read;
	__u64 cut;
	__u64 kept;
	__u64 repeats;
	__u64 truncated;
	__u64 malformed;
	__u64 not_ip;
	__u64 fragments;
	__u64 unsure;
	__u64 undated;
	__u64 clock_back;
	__u64 clock_back_ns;
	__u64 clock_ahead;
	bool exact;
	__u64 held;
	__u64 bytes;
	struct planned planned;
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
