/* SPDX-License-Identifier: GPL-2.0 */
/* What the program laws.bpf.c and its tests share. */
#ifndef EPF_LAWS_H
#define EPF_LAWS_H

#include <linux/types.h>

#define LAWS_WORKERS 2u
#define LAWS_RING (1u << 17) /* most keys of a worker in the window */
#define LAWS_JUDGED 4u       /* keys judged with each packet */

/* Where a section is held back: before a compare-and-swap; or before it looks up the
 * contents of the slot that it has read.
 */
#define LAWS_HOLD_CAS 1u
#define LAWS_HOLD_SLOT 2u

/**
 * struct laws_key - an inserted key
 * @ticket: drawn before the insertion began; 0: not to be judged
 * @serial: serial of the contents that it was inserted into
 */
struct laws_key {
	__u64 ticket;
	__u64 serial;
};

/**
 * struct laws_worker - one inserting thread
 * @keys: keys inserted so far: laws_digest(worker, 0 .. @keys - 1)
 * @oldest: all of its earlier keys have left the window
 * @judged: keys looked up that had to be present
 * @missed: of these, keys reported absent
 * @unknown: of these, keys reported unknown
 * @wrong: of these, keys reported unknown without a reason
 * @refused: operations without contents
 * @repeats: new keys that were reported present or unknown
 */
struct laws_worker {
	__u64 keys;
	__u64 oldest;
	__u64 judged;
	__u64 missed;
	__u64 unknown;
	__u64 wrong;
	__u64 refused;
	__u64 repeats;
};

#endif /* EPF_LAWS_H */
