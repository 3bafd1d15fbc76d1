/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An exact table of keys: which keys were seen at most so many packets, or so much time,
 * ago?
 *
 * A key is a 128-bit digest. One of its bits is used to tell a used slot from an empty one.
 * The *place* where a key was seen is a number: of a packet in the file, or of ns. Two
 * places are near if they differ by at most the reach.
 */
#ifndef EPFCTL_DEDUP_EXACT_H
#define EPFCTL_DEDUP_EXACT_H

#include <stdbool.h>

#include <linux/types.h>

struct exact;

/**
 * struct exact_ask - the request
 * @reach: places this far apart are near
 * @grows: places never go back
 * @first_seen: a key that was seen near is not entered again
 * @max_bytes: limit of memory, also while the table moves to a larger one
 */
struct exact_ask {
	__u64 reach;
	bool grows;
	bool first_seen;
	__u64 max_bytes;
};

/* NULL: no memory, or @max_bytes is too small for any table. */
struct exact *exact_new(const struct exact_ask *ask);
void exact_free(struct exact *e);

/**
 * exact_seen() - was the key seen near? Also enter it
 * @e: the table
 * @digest: of the key
 * @place: where it is seen now
 *
 * Return: 1, 0, or -ENOMEM: there is no memory for it, or @max_bytes is used up.
 */
int exact_seen(struct exact *e, const __u64 digest[2], __u64 place);

/**
 * exact_forget() - no place below @oldest will come
 * @e: the table
 * @oldest: the lowest place that can come. Keys that are near no such place are forgotten
 *	when room is needed.
 */
void exact_forget(struct exact *e, __u64 oldest);

/* May a key near @place have been forgotten? */
bool exact_is_unsure(const struct exact *e, __u64 place);

/* Memory of the table: now, and the most so far. */
__u64 exact_bytes(const struct exact *e);
__u64 exact_most_bytes(const struct exact *e);
/* Number of entries now; a key that has several counts for each. */
__u64 exact_held(const struct exact *e);

/* The most memory of a table that holds @keys at once and grows for another one. */
__u64 exact_bytes_for(__u64 keys);

#endif /* EPFCTL_DEDUP_EXACT_H */
