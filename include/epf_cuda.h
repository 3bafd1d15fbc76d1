/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interface between libepf and libepf_cuda.so, which libepf loads if it exists:
 * a table of functions, and their arguments. Neither side knows more about the
 * other.
 *
 * @version changes with every change of this interface, and libepf accepts only
 * a library of its own version. All memory that is passed is the host's.
 *
 * Functions return 0 or a negative errno, with one line of explanation in
 * struct epf_cuda_error:
 *
 *   -EINVAL: a number out of its range;
 *   -ENOMEM: no memory on the card or the host; smaller requests may succeed;
 *   -ENODEV: no card, or no driver for it; no such device; or this process was
 *	forked from one that uses the card;
 *   -EAGAIN: the card is not ready yet; it may be later;
 *   -EIO: the card failed, and this process cannot use it any more. With several
 *	devices: all of them failed. While one is left it does the others' work, and
 *	@lost tells of them;
 *   -ECANCELED: @progress asked for it.
 *
 * After an error nothing is under way on the card, and handles can be released.
 *
 * CUDA does not survive a fork(): in the child of a process that has used the
 * card every function fails with -ENODEV, and handles are released without the
 * card.
 *
 * Any thread may call; calls run one at a time. They use the devices that @probe
 * selects, of those that CUDA_VISIBLE_DEVICES leaves; before it, device 0. Lines and
 * columns are copied to each of them, and the pieces of a query are shared among
 * them. Calls restore the current device and context of the thread.
 */
#ifndef EPF_CUDA_H
#define EPF_CUDA_H

#include <linux/types.h>

#include "epf/lanes.h"
#include <linux/epochfilter.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EPF_CUDA_VERSION 2u
#define EPF_CUDA_TEXT 160u
#define EPF_CUDA_DEVICES 16u
#define EPF_CUDA_ALL (~0u) /* all devices, up to EPF_CUDA_DEVICES */

struct epf_cuda_held;
struct epf_cuda_column;

struct epf_cuda_error {
	char text[EPF_CUDA_TEXT];
};

/**
 * struct epf_cuda_device - a card
 * @name: its name
 * @bytes: its memory
 * @major: major number of its compute capability
 * @minor: minor number
 * @number: its number
 */
struct epf_cuda_device {
	char name[64];
	__u64 bytes;
	__u32 major;
	__u32 minor;
	__s32 number;
	__u32 reserved;
};

/**
 * struct epf_cuda_devices - the cards
 * @nr: how many
 * @device: in the order of their numbers
 */
struct epf_cuda_devices {
	__u32 nr;
	__u32 reserved;
	struct epf_cuda_device device[EPF_CUDA_DEVICES];
};

/**
 * struct epf_cuda_lines - lines of a filter
 * @line: epf_geom_lines(&geom) lines; 8-byte aligned
 * @geom: shape
 * @hash: hash of the keys
 * @epoch: the epoch for lookups
 */
struct epf_cuda_lines {
	const struct epf_line *line;
	struct epf_geom geom;
	struct epf_hash hash;
	__u64 epoch;
};

/**
 * struct epf_cuda_keys - keys, one after another without gaps
 * @data: any alignment; digests are little-endian. Keys in pinned memory are not
 *	copied on the host
 * @n: number of keys
 * @len: bytes per key, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 */
struct epf_cuda_keys {
	const void *data;
	__u64 n;
	__u32 len;
	__u32 reserved;
};

/**
 * struct epf_cuda_answer - requested results of a query
 * @bitmap: (n + 7) / 8 bytes: bit i mod 8 of byte i / 8 is key i; the bits
 *	after the last key are zero
 * @ages: n bytes: age, or 255: absent; NULL: none
 * @threads: threads that copy into pinned memory, at most 16; 0: one per CPU, at
 *	most 16
 * @progress: called in the calling thread with keys done and all keys; a result
 *	other than 0 stops the query; or NULL
 * @ctx: for @progress
 * @ages_of: out: keys present at each age
 */
struct epf_cuda_answer {
	unsigned char *bitmap;
	unsigned char *ages;
	__u32 threads;
	__u32 reserved;
	int (*progress)(void *ctx, __u64 done, __u64 all);
	void *ctx;
	__u64 ages_of[EPF_LANES];
};

/**
 * struct epf_cuda_ops - the table
 * @version: EPF_CUDA_VERSION
 * @size: of this struct
 * @probe: select devices, and find their properties. Makes a context on each and runs
 *	an empty kernel; all must be usable. @devices: bit i is device i; 0: device 0;
 *	EPF_CUDA_ALL. Called before the others, and again only after -EAGAIN
 * @hold: copy lines to the card. Lanes that are stale at their epoch become zero, so
 *	that @apply can keep the lines current
 * @release: free lines of @hold; NULL is allowed
 * @apply: apply records of a journal, in any order of their rings, to held lines.
 *	The lines are then at @epoch, which is not before that of any record
 * @fetch: copy the lines back from the card, for tests; stale lanes are zero
 * @load: copy keys to the card, for repeated lookups
 * @unload: free keys of @load; NULL is allowed
 * @query: look up keys in held lines
 * @query_column: look up @n loaded keys from number @first on
 * @tally: count lanes by part, lane index and set positions: EPF_PARTS_MAX by
 *	EPF_LANES by EPF_LANE_BITS + 1 numbers; stale lanes count as empty
 * @chance: count how many of the keys epf_word(seed + i, 1), i < n, are present; the
 *	card generates them
 * @lost: return how many devices have failed since @probe, with one reason
 */
struct epf_cuda_ops {
	__u32 version;
	__u32 size;
	int (*probe)(__u32 devices, struct epf_cuda_devices *found, struct epf_cuda_error *e);
	int (*hold)(const struct epf_cuda_lines *lines, __u32 threads, struct epf_cuda_held **held,
		    struct epf_cuda_error *e);
	void (*release)(struct epf_cuda_held *held);
	int (*apply)(struct epf_cuda_held *held, const struct epf_journal_record *record, __u64 n,
		     __u64 epoch, struct epf_cuda_error *e);
	int (*fetch)(struct epf_cuda_held *held, struct epf_line *line, struct epf_cuda_error *e);
	int (*load)(const struct epf_cuda_keys *keys, __u32 threads,
		    struct epf_cuda_column **column, struct epf_cuda_error *e);
	void (*unload)(struct epf_cuda_column *column);
	int (*query)(struct epf_cuda_held *held, const struct epf_cuda_keys *keys,
		     struct epf_cuda_answer *a, struct epf_cuda_error *e);
	int (*query_column)(struct epf_cuda_held *held, const struct epf_cuda_column *column,
			    __u64 first, __u64 n, struct epf_cuda_answer *a,
			    struct epf_cuda_error *e);
	int (*tally)(struct epf_cuda_held *held, __u64 *nr, struct epf_cuda_error *e);
	int (*chance)(struct epf_cuda_held *held, __u64 seed, __u64 n, __u64 *found,
		      struct epf_cuda_error *e);
	__u32 (*lost)(struct epf_cuda_error *e);
};

/* The symbol of the table, for dlsym(). Programs use libepf_cuda.h. */
#define EPF_CUDA_SYMBOL "epf_cuda_ops"
typedef const struct epf_cuda_ops *(*epf_cuda_ops_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* EPF_CUDA_H */
