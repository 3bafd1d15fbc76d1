/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which keys were seen at most so many packets, or so much time, ago? Exactly,
 * from a table of them.
 *
 * A key is a 128-bit digest, of which one bit is spent on telling a used slot
 * from an empty one. Where it was seen is a number, its *place*: of a packet in
 * the file, or of ns. Two places are near if they differ by at most the reach.
 */
#ifndef EPFCTL_DEDUP_EXACT_H
#define EPFCTL_DEDUP_EXACT_H

#include <stdbool.h>

#include <linux/types.h>

struct exact;

/**
 * struct exact_ask - what is asked
 * @reach: places this far apart are near
 * @grows: places never go back
 * @first_seen: a key found near is not entered again
 * @max_bytes: of memory, also while the table is moved to a larger one
 */
struct exact_ask {
	__u64 reach;
	bool grows;
	bool first_seen;
	__u64 max_bytes;
};

/* NULL: no memory, or @max_bytes are too few for any table. */
struct exact *exact_new(const struct exact_ask *ask);
void exact_free(struct exact *e);

/**
 * exact_seen() - was the key seen near? And enter it
 * @e: the table
 * @digest: of the key
 * @place: where it is seen
 *
 * Return: 1, 0, or -ENOMEM: there is no memory for it, or none is allowed.
 */
int exact_seen(struct exact *e, const __u64 digest[2], __u64 place);

/**
 * exact_forget() - from now on no place is below this
 * @e: the table
 * @oldest: the least place that can come. Keys that are near no such place may
 *	be forgotten, and are when room is needed.
 */
void exact_forget(struct exact *e, __u64 oldest);

/* May a key near @place have been forgotten? */
bool exact_is_unsure(const struct exact *e, __u64 place);

/* Memory of the table now, and at most so far. */
__u64 exact_bytes(const struct exact *e);
__u64 exact_most_bytes(const struct exact *e);
/* Keys held now; one that is held for several times counts for each. */
__u64 exact_held(const struct exact *e);

/* Memory at most of a table that has to hold @keys at once while it takes in
 * another one.
 */
__u64 exact_bytes_for(__u64 keys);

#endif /* EPFCTL_DEDUP_EXACT_H */
