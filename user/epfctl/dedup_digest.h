/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Digests of 128 bits for the exact table: two of 64 bits under independent keys. They are
 * compared within one run only, so their definition is free to change. docs/DEDUP.md has it,
 * with the chance that two packets have the same digest.
 */
#ifndef EPFCTL_DEDUP_DIGEST_H
#define EPFCTL_DEDUP_DIGEST_H

#include <epf/packet.h>

#define FOLD_WORDS 3 /* the two words of a sum, and the length */

/**
 * struct digest_keys - two keyed functions
 * @hash: for each, the kind and its keys
 * @fold: for each, FOLD_WORDS + 1 random numbers of 128 bits, the low word first
 */
struct digest_keys {
	struct epf_hash hash[2];
	__u64 fold[2][FOLD_WORDS + 1][2];
};

/**
 * digest_keys_draw() - draw random keys
 * @k: result
 * @kind: enum epf_hash_id, which EPF_HASH_NH makes faster than docs/theory/nh.md
 *
 * Return: 0 or a negative errno of getrandom().
 */
int digest_keys_draw(struct digest_keys *k, __u32 kind);

/**
 * digest_packet() - both digests of a packet
 * @k: keys
 * @pkt: packet, in one segment
 * @o: options that passed epf_pkt_opts_check(); with EPF_PKT_FRAME, max_bytes is 0
 * @digest: result
 *
 * Return: as epf_pkt_digest().
 */
int digest_packet(const struct digest_keys *k, const struct epf_pkt *pkt,
		  const struct epf_pkt_opts *o, __u64 digest[2]);

#endif /* EPFCTL_DEDUP_DIGEST_H */
