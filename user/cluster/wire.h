/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between the hosts of a cluster. Pure functions; any context.
 *
 * A message is a header of CLUSTER_HEAD_BYTES and @count digests of 8 bytes, little-endian
 * throughout. docs/CLUSTER.md ("Messages") has the layout.
 *
 *   magic "EPFC" | version u16 | header bytes u16 | check u64[2] | hash kind u32 | count u32 |
 *   window ns u64 | host char[64] | incarnation u64 | seq u64 | from u64 | to u64 | lost u64 |
 *   CRC32C u32 of all other bytes | zero u32
 *
 * What the publisher says with it: "you have all keys whose insertion had returned at cluster
 * time @to, if you have this message and all earlier ones of this incarnation."
 *
 *  - Message n covers (from, to], and its @from is the @to of message n - 1. The @from of message
 *    1 is an UPPER bound of the cluster time at which reading of the journal began.
 *  - @to is a LOWER bound of the cluster time, taken before the journal was read to its end. If
 *    that gives several messages, only the last has this @to; those before have @to equal to
 *    @from. A message also brings keys that were inserted after its @to: who lacks it has a hole
 *    that reaches until the stamp of the next one.
 *  - A sequence number is never used twice in an incarnation, and @to never decreases. A publisher
 *    that cannot ensure this, because its process or the clock began anew, takes a new incarnation.
 *  - A message without digests is a heartbeat. As long as a publisher does not know the cluster
 *    time it sends heartbeats with @seq, @from and @to 0, which promise nothing.
 */
#ifndef CLUSTER_WIRE_H
#define CLUSTER_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/epochfilter.h>

#include "records/records.h"

#define CLUSTER_DIGESTS_MAX 65536u
#define CLUSTER_HOST_BYTES 64u /* of a host name, with its NUL */
#define CLUSTER_HEAD_BYTES 152u
#define CLUSTER_MSG_BYTES_MAX (CLUSTER_HEAD_BYTES + 8 * CLUSTER_DIGESTS_MAX)

/**
 * struct cluster_msg - a message
 * @check: see cluster_check()
 * @hash_kind: enum epf_hash_id of the digests
 * @window_ns: window of the cluster
 * @host: who publishes, see cluster_host_valid()
 * @incarnation: random, of one journal: another one may lack keys of the first
 * @seq: 1 and up, without holes; 0: see above
 * @from: cluster time in ns
 * @to: cluster time in ns; at least @from
 * @lost: records that the journal or the publisher dropped, at the latest in this message
 * @count: number of digests
 * @digest: @count digests; may be NULL if there are none
 */
struct cluster_msg {
	__u64 check[2];
	__u32 hash_kind;
	__u64 window_ns;
	char host[CLUSTER_HOST_BYTES];
	__u64 incarnation;
	__u64 seq;
	__u64 from;
	__u64 to;
	__u64 lost;
	__u32 count;
	const __u64 *digest;
};

/* May a host have this name? It is a token of a subject: 1 to 63 letters, digits, '-' or '_'. */
bool cluster_host_valid(const char *name);

/**
 * cluster_check() - compute what tells hosts that their digests mean the same
 * @check: result
 * @key: hash key of the filters
 * @hash_kind: enum epf_hash_id
 * @desc: what keys are made of; NULL: unknown
 * @window_ns: window of the cluster
 *
 * Two words of SipHash-2-4 under the hash key, of a constant text and the parameters. SipHash is
 * a pseudorandom function: whoever lacks the key learns from these words only whether a guess of
 * all 128 bits of the key is right. The digests of the messages tell as much, so the check makes
 * no key weaker; a key must be drawn at random for either. Hosts that differ in a parameter
 * differ in @check with probability 1 - 2^-128.
 */
void cluster_check(__u64 check[2], const __u64 key[2], __u32 hash_kind,
		   const struct epf_key_desc *desc, __u64 window_ns);

/* Bytes of a message with @count digests. */
size_t cluster_msg_bytes(__u32 count);

/**
 * cluster_msg_put() - encode a message
 * @m: message
 * @buf: result
 * @room: bytes there; CLUSTER_MSG_BYTES_MAX always suffice
 *
 * Return: bytes of the message; 0: no room, or a message that cluster_msg_get() would refuse.
 */
size_t cluster_msg_put(const struct cluster_msg *m, void *buf, size_t room);

/**
 * cluster_msg_get() - decode a message that anybody may have made
 * @m: result; its @digest is @digests
 * @buf: @bytes bytes, without any alignment
 * @bytes: length of the message
 * @digests: room for CLUSTER_DIGESTS_MAX digests
 * @e: what is wrong
 *
 * Return: 0; -EMSGSIZE: shorter or longer than it says, or too many digests; -EBADMSG: another
 * magic, or damaged; -EPROTO: another version, or an unknown field; -EINVAL: a name, a sequence
 * number or an interval that no publisher sends.
 */
int cluster_msg_get(struct cluster_msg *m, const void *buf, size_t bytes, __u64 *digests,
		    struct rec_error *e);

#endif /* CLUSTER_WIRE_H */
