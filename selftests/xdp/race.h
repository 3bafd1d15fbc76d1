/* SPDX-License-Identifier: GPL-2.0 */
/* What race.c and its programs share. */
#ifndef EPF_RACE_H
#define EPF_RACE_H

#include <linux/epochfilter.h>

#define RACE_PORT 7000 /* source port of the senders' packets */

/**
 * struct race - counts; each is added to atomically
 * @opts: packet key, from the link header on, and from the network header on
 * @filter: id, for race_take
 * @got: race_take has the filter
 * @learnt: packets of the senders inserted, in process context
 * @lost: packets of the senders that could not be inserted
 * @found: packets of the senders that arrived and were found
 * @missed: packets of the senders that arrived and were not found, or the lookup failed
 * @flood: packets of others that arrived and were inserted, in softirqs
 * @flood_lost: packets of others that could not be inserted
 * @gone: packets of either kind while there was no filter
 * @between: packets of either kind that arrived while a program of this CPU inserted
 * @last: result of the last program
 */
struct race {
	struct epf_pkt_opts opts;
	struct epf_pkt_opts ip_opts;
	__u32 filter;
	__u32 got;
	__u64 learnt;
	__u64 lost;
	__u64 found;
	__u64 missed;
	__u64 flood;
	__u64 flood_lost;
	__u64 gone;
	__u64 between;
	__s64 last;
};

#endif /* EPF_RACE_H */
