/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cluster in simulated time: hosts with clocks of their own, a broker, a network that delays,
 * loses, doubles, reorders and damages, and faults. The hosts run the product's code for messages,
 * clock and coverage; publisher, filters and broker are small models. An exact oracle knows each
 * insertion. Everything follows from a seed.
 *
 * Time is in ns. The stamps' clock is true time plus "jump", which only schedules with
 * struct plan.jumps change.
 */
#ifndef CLUSTER_SIM_H
#define CLUSTER_SIM_H

#include "cluster/coverage.h"

#define HOSTS_MAX 5
#define FAULTS_MAX 8
#define KEYS_MAX 8192
#define MESSAGES_MAX 16384
#define STORED_MAX (4 * MESSAGES_MAX) /* some are sent again */
#define QUEUE_MAX 24
#define MESSAGE_BYTES (CLUSTER_HEAD_BYTES + 8 * BATCH_MAX)
#define BATCH_MAX 3u /* digests of a message, so that one reading makes several */

#define MS 1000000ULL
#define WINDOW (2000 * MS)
#define LAG (250 * MS)
#define INTERVAL (40 * MS) /* between two readings of the journal */
#define TICK (30 * MS)     /* between two calls of coverage_until() */
#define RESEND (300 * MS)  /* what is not acknowledged by then is sent again */
#define JOURNAL_KEYS 40u   /* that a journal holds */
#define PEER_RATE 200u
#define PEER_BURST 150u

/* clang-format off */
enum fault_kind {
	LOSSY,       /* deliveries are lost */
	DOUBLED,     /* deliveries come twice, the second late */
	DAMAGED,     /* bytes change on the way */
	FAILS,       /* the filter of all takes no digests */
	CUT,         /* the host and the broker do not reach each other */
	AGENT_STOPS, /* for a while */
	MILD_KINDS,  /* if short, those above leave no hole that a replay does not fill */
	SLOW = MILD_KINDS, /* messages take long, and overtake one another */
	BROKER_DOWN, /* and its stream is lost */
	AGENT_DIES,  /* and begins again in the same incarnation, without its queue */
	AGENT_ANEW,  /* likewise, in a new incarnation */
	HOST_DIES,   /* its filters and its journal are lost */
	FLOOD,       /* the host inserts far more keys than its peers allow */
	STRANGER,    /* messages that no host may take */
	CLOCK_JUMPS, /* the broker's clock is set */
	FAULT_KINDS
};
/* clang-format on */

/**
 * struct fault - something that goes wrong for a while
 * @kind: enum fault_kind
 * @host: with which host, where that matters
 * @begin: true time
 * @end: true time
 * @happened: it has begun, or ended, for those that do something then
 */
struct fault {
	enum fault_kind kind;
	unsigned int host;
	__u64 begin, end;
	int happened;
};

/**
 * struct plan - a schedule
 * @seed: of all that is drawn
 * @hosts: number
 * @faults: number of faults
 * @fault: in any order
 * @healed: all faults are over
 * @end: of the run
 * @delay: longest time of a message on its way, without faults
 * @jumps: the broker's clock may be set
 * @forger: one more than the number of a host that sends whatever it wants; 0: none
 */
struct plan {
	__u64 seed;
	unsigned int hosts;
	unsigned int faults;
	struct fault fault[FAULTS_MAX];
	__u64 healed;
	__u64 end;
	__u64 delay;
	bool jumps;
	unsigned int forger;
};

/**
 * struct outcome - of a run
 * @wrong: answers "absent, covered" that the oracle contradicts
 * @claims: times at which a host said that it was covered
 * @ticks: times at which it was asked
 * @keys: keys that had to be there, summed over the claims
 * @late: for the caller
 * @refused: messages that were refused, by reason
 * @gaps: holes that were given up
 * @replays: replays
 * @forged: messages of the forger that hosts got
 * @changed: times at which those had changed what a host knows of another one
 * @whole_ns: true time from which all hosts were covered until the end; ~0: never
 */
struct outcome {
	__u64 wrong, claims, ticks, keys, late, refused[COVERAGE_REFUSALS], gaps, replays;
	__u64 forged, changed;
	__u64 whole_ns;
};

void sim_run(const struct plan *plan, struct outcome *out);

/* A stream of numbers. */
__u64 draw(__u64 *state, __u64 below);

#endif /* CLUSTER_SIM_H */
