/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between libepf and libepf_cuda.so, which it loads where there is one: a table
 * of functions, and what they take. Neither knows more of the other.
 *
 * A number in @version changes with any of this; libepf takes a library of its
 * own version only. All memory that is passed is the host's.
 *
 * Functions return 0 or a negative errno, with one line of why in struct
 * epf_cuda_error:
 *   -EINVAL: a number out of its range;
 *   -ENOMEM: no memory, of the card or of the host; smaller things may fit;
 *   -ENODEV: no card, or no driver for it; or this process was forked from one
 *	that uses the card;
 *   -EAGAIN: the card is not ready yet: it may be later;
 *   -EIO: the card failed. It is of no use to this process any more;
 *   -ECANCELED: as @progress wished.
 * After an error nothing is under way on the card, and handles can be released.
 *
 * CUDA does not outlive a fork(): in the child of a process that has used the card
 * every function fails with -ENODEV, and handles are released without the card.
 *
 * Any thread may call; one at a time is served. Device 0 serves it, of those that
 * CUDA_VISIBLE_DEVICES leaves; the current device and context of the thread are
 * afterwards what they were.
 */
#ifndef EPF_CUDA_H
#define EPF_CUDA_H

#include <linux/types.h>

#include "epf/lanes.h"
#include <linux/epochfilter.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EPF_CUDA_VERSION 1u
#define EPF_CUDA_TEXT 160u

struct epf_cuda_held;
struct epf_cuda_column;

struct epf_cuda_error {
	char text[EPF_CUDA_TEXT];
};

/**
 * struct epf_cuda_device - the card
 * @name: of it
 * @bytes: of memory
 * @major: compute capability
 * @minor: likewise
 */
struct epf_cuda_device {
	char name[64];
	__u64 bytes;
	__u32 major;
	__u32 minor;
};

/**
 * struct epf_cuda_lines - lines of a filter
 * @line: epf_geom_lines(&geom) of them; 8-byte aligned
 * @geom: shape
 * @hash: of keys
 * @epoch: that they are to be read at
 */
struct epf_cuda_lines {
	const struct epf_line *line;
	struct epf_geom geom;
	struct epf_hash hash;
	__u64 epoch;
};

/**
 * struct epf_cuda_keys - keys, one after another without gaps
 * @data: any alignment; digests are little-endian. Pinned ones are not copied on
 *	the host
 * @n: how many
 * @len: bytes of each, 1 .. EPF_KEY_MAX; 0: digests of eight bytes
 */
struct epf_cuda_keys {
	const void *data;
	__u64 n;
	__u32 len;
	__u32 reserved;
};

/**
 * struct epf_cuda_answer - what is wanted, and the answer
 * @bitmap: (n + 7) / 8 bytes: bit i mod 8 of byte i / 8 is key i; the bits
 *	after the last key are zero
 * @ages: n bytes, or NULL: age, or 255: absent
 * @threads: that copy into pinned memory, eight at most; 0: so many
 * @progress: or NULL; in the calling thread, with keys done and all keys; not 0:
 *	stop
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
 * @probe: is there a card that can be used, and which? Makes a context there and
 *	runs an empty kernel
 * @hold: copy lines to the card. What is stale at their epoch is not copied, so
 *	that they can be kept current
 * @release: of @hold; NULL is well
 * @apply: records of a journal, in any order of their rings, to lines that are
 *	held; @epoch is theirs afterwards, at or after that of each record
 * @fetch: the lines as they are on the card, for tests; stale ones are zero
 * @load: copy keys to the card, to be asked for again and again
 * @unload: of @load; NULL is well
 * @query: ask held lines for keys
 * @query_column: for @n keys from number @first on, of those that were loaded
 * @tally: lanes by part, place and positions set, EPF_PARTS_MAX by EPF_LANES by
 *	EPF_LANE_BITS + 1 numbers; stale lanes are empty ones
 * @chance: how many of the keys epf_word(seed + i, 1), i < n, are present; they
 *	are made on the card
 */
struct epf_cuda_ops {
	__u32 version;
	__u32 size;
	int (*probe)(struct epf_cuda_device *device, struct epf_cuda_error *e);
	int (*hold)(const struct epf_cuda_lines *lines, __u32 threads,
		    struct epf_cuda_held **held, struct epf_cuda_error *e);
	void (*release)(struct epf_cuda_held *held);
	int (*apply)(struct epf_cuda_held *held,
		     const struct epf_journal_record *record, __u64 n,
		     __u64 epoch, struct epf_cuda_error *e);
	int (*fetch)(struct epf_cuda_held *held, struct epf_line *line,
		     struct epf_cuda_error *e);
	int (*load)(const struct epf_cuda_keys *keys, __u32 threads,
		    struct epf_cuda_column **column, struct epf_cuda_error *e);
	void (*unload)(struct epf_cuda_column *column);
	int (*query)(struct epf_cuda_held *held,
		     const struct epf_cuda_keys *keys,
		     struct epf_cuda_answer *a, struct epf_cuda_error *e);
	int (*query_column)(struct epf_cuda_held *held,
			    const struct epf_cuda_column *column, __u64 first,
			    __u64 n, struct epf_cuda_answer *a,
			    struct epf_cuda_error *e);
	int (*tally)(struct epf_cuda_held *held, __u64 *nr,
		     struct epf_cuda_error *e);
	int (*chance)(struct epf_cuda_held *held, __u64 seed, __u64 n,
		      __u64 *found, struct epf_cuda_error *e);
};

/* What libepf_cuda.so exports; EPF_CUDA_SYMBOL to dlsym(). */
#define EPF_CUDA_SYMBOL "epf_cuda_ops"
typedef const struct epf_cuda_ops *(*epf_cuda_ops_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* EPF_CUDA_H */
