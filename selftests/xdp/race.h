/* SPDX-License-Identifier: GPL-2.0 */
/* What race.c and its programs share. */
#ifndef EPF_RACE_H
#define EPF_RACE_H

#include <linux/epochfilter.h>

#define RACE_PORT 7000 /* the senders' packets come from this port */

/**
 * struct race - counts; each is added to atomically
 * @opts: packet key, from the link header on, and from the network header on
 * @filter: id, for race_take
 * @got: race_take has it
 * @learnt: packets of the senders, in process context
 * @lost: likewise, that could not be learnt
 * @found: packets of the senders that came in and were found
 * @missed: likewise, that were not, or the filter could not be asked
 * @flood: packets of others that came in and were learnt, in softirqs
 * @flood_lost: likewise, that could not be learnt
 * @gone: of all three, while there was no filter
 * @between: of both kinds, those that came in while a program of this CPU learnt
 * @last: what the last program returned
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
