/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cluster time: the clock by which the server of the stream stamps messages. It is the one clock
 * that all hosts share; clocks of hosts are never compared. Pure functions; times are passed in.
 *
 * A host sends a message at its own time s, and gets it back, with stamp S, at its own time r.
 * The server read its clock in between, so at the own time t >= r cluster time is at least
 * S + (t - r) and at most S + (t - s), each corrected by what the rates of the two clocks may
 * differ: CLUSTER_CLOCK_PPM. The last echo counts, so rates are trusted only for the time between
 * echoes, and for CLUSTER_CLOCK_OLD_NS at most.
 *
 * A host that sleeps, or a virtual machine that is paused, has a CLOCK_MONOTONIC that stands
 * still: its bounds are wrong until the next echo.
 */
#ifndef CLUSTER_STAMP_H
#define CLUSTER_STAMP_H

#include <stdbool.h>

#include <linux/types.h>

#define CLUSTER_CLOCK_PPM 200u
#define CLUSTER_CLOCK_OLD_NS 10000000000ULL

/* What the rates of two clocks can make of a duration, rounded up. */
static inline __u64 cluster_rate_error(__u64 ns)
{
	return ns / (1000000u / CLUSTER_CLOCK_PPM) + 1;
}

/**
 * struct cluster_clock - cluster time as one host knows it; zeroed: not known
 * @known: the other fields are valid
 * @stamp: of the newest echo; cluster time
 * @sent: when its message was sent; own time, as all that is not cluster time
 * @received: when it came back
 * @floor: the highest lower bound that was told
 * @floor_ns: when
 * @after: echoes of messages that were sent before are of a clock that is given up
 * @restarts: how often two echoes were not of one clock; times from before a restart mean nothing
 *	after it
 * @echoes: echoes that were taken
 */
struct cluster_clock {
	bool known;
	__u64 stamp;
	__u64 sent;
	__u64 received;
	__u64 floor;
	__u64 floor_ns;
	__u64 after;
	__u64 restarts;
	__u64 echoes;
};

/**
 * cluster_clock_echo() - take an echo of an own message
 * @c: clock
 * @sent_ns: when it was sent: read before it was handed over
 * @received_ns: when it came back: read after it was there. Both of CLOCK_MONOTONIC, and of this
 *	boot: messages of an earlier process are no echoes
 * @stamp: the server's time stamp
 *
 * An echo of a message that was sent several times is right with the first of these times, but its
 * bounds are wide. Echoes may come in any order and repeatedly: only one whose message was sent
 * after that of the echo in use is taken. If it does not go with that one, given the rates of the
 * clocks, the stamps are not of one clock (another server, or its clock was set): then the clock
 * starts again from this echo.
 */
void cluster_clock_echo(struct cluster_clock *c, __u64 sent_ns, __u64 received_ns, __u64 stamp);

/* Bounds of cluster time at the own time @now_ns, which is not before the newest echo. The lower
 * bound never decreases but at a restart. Return: false: no echo, or the newest one was sent
 * over CLUSTER_CLOCK_OLD_NS ago.
 */
bool cluster_clock_low(struct cluster_clock *c, __u64 now_ns, __u64 *t);
bool cluster_clock_high(const struct cluster_clock *c, __u64 now_ns, __u64 *t);

/* The last own time at which cluster time is certainly not above @t, if that is not before
 * @now_ns.
 */
bool cluster_clock_until(const struct cluster_clock *c, __u64 now_ns, __u64 t, __u64 *until_ns);

#endif /* CLUSTER_STAMP_H */
