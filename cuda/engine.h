/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Host side of the GPU backend: the card, the transfer of keys and results, and
 * the lines and columns that stay on the card. The lock of engine.cu protects
 * all of it.
 */
#ifndef EPF_CUDA_ENGINE_H
#define EPF_CUDA_ENGINE_H

#include <epf_cuda.h>
#include <pthread.h>
#include <stddef.h>

#include "kernels.h"

#define CARD 0 /* device number, where none is named */
/* Three slots: one is filled or emptied, one transfers its keys, one is
 * queried. They are small, so that the beginning and the end, where nothing
 * overlaps, are short.
 */
#define SLOTS 3u
#define BUFFER_BYTES (16u << 20) /* upper limit for the keys of a slot: see struct slot */

/* What a copy is for. */
enum stage_sort {
	STAGE_KEYS,    /* keys, to pinned memory */
	STAGE_LINES,   /* to pinned memory, from words that others may write: no word is torn */
	STAGE_ANSWERS, /* results, from pinned memory */
};

/**
 * struct stage - a copy into or out of pinned memory; all zeros: no copy
 * @taken: bytes that some thread has copied or is about to copy
 * @left: bytes that are not copied yet
 * @next: the copy that was begun after this one
 */
struct stage {
	char *to;
	const char *from;
	size_t bytes;
	size_t taken;
	size_t left;
	enum stage_sort sort;
	struct stage *next;
};

/**
 * struct slot - buffers for one piece of a transfer; slots take turns
 * @keys: keys in pinned memory, @in_bytes
 * @keys_there: keys on the card, @in_there_bytes
 * @answer: results in pinned memory, @out_bytes: counters, bitmap, ages
 * @answer_there: results on the card, @out_there_bytes
 * @fill: copy into @keys
 * @drain: copy from @answer
 * @up: event: @keys have been copied to the card
 * @run: event: the kernel has finished
 * @down: event: @answer has been copied from the card
 */
struct slot {
	char *keys;
	char *keys_there;
	size_t in_bytes;
	size_t in_there_bytes;
	char *answer;
	char *answer_there;
	size_t out_bytes;
	size_t out_there_bytes;
	struct stage fill;
	struct stage drain;
	cudaEvent_t up;
	cudaEvent_t run;
	cudaEvent_t down;
};

/**
 * struct card - state of a device
 * @device: its number
 * @begun: streams and events exist
 * @broken: it has failed and is not used again
 * @why: the error of that failure
 * @up: stream of copies to the card
 * @run: stream of kernels
 * @down: stream of copies from the card
 * @persisting: bytes of the card's L2 cache that can be reserved for lines
 * @limit: the process's limit on these bytes before this library changed it
 * @kept: lines for which the cache is reserved; NULL: none
 * @scratch: memory on the card, @scratch_bytes, for one call at a time. It stays
 *	allocated, because cudaFree() waits for all work under way
 */
struct card {
	int device;
	bool begun;
	bool broken;
	struct epf_cuda_error why;
	cudaStream_t up;
	cudaStream_t run;
	cudaStream_t down;
	struct slot slot[SLOTS];
	size_t persisting;
	size_t limit;
	const struct epf_line *kept;
	char *scratch;
	size_t scratch_bytes;
};

/**
 * struct borrowed - device and context of a thread; see card_borrow()
 */
struct borrowed {
	int device;
	CUcontext context;
};

/**
 * struct epf_cuda_held - lines on all devices
 * @on: by cards_index(); a device that failed before has none
 */
struct epf_cuda_held {
	struct epf_cu_lines on[EPF_CUDA_DEVICES];
	struct epf_hash hash;
};

/**
 * struct epf_cuda_column - keys on all devices, likewise
 * @n: number of keys
 * @len: as in struct epf_cuda_keys
 */
struct epf_cuda_column {
	const void *on[EPF_CUDA_DEVICES];
	__u64 n;
	__u32 len;
};

/* card.cu: */

/* Return: @err as an errno, after writing one line about it to @e. */
__attribute__((format(printf, 3, 4))) int card_fails(struct epf_cuda_error *e, cudaError_t err,
						     const char *what, ...);
__attribute__((format(printf, 3, 4))) int card_wrong(struct epf_cuda_error *e, int err,
						     const char *what, ...);

/* Return: the setting @name (for tests), or @otherwise if it is not set. */
__u64 card_setting(const char *name, __u64 otherwise);

/* Return: upper limit for the keys of a slot, in bytes. */
size_t card_buffer(void);

/* CUDA does not survive a fork(): the child cannot use the parent's CUDA state
 * and must not touch it. Return: is this such a child?
 */
bool card_is_forked(void);

/* This process uses CUDA from now on. Return: 0; -ENODEV: card_is_forked(). */
int card_claim(struct epf_cuda_error *e);

/* Save the thread's current device and context and make @device current. They
 * belong to the program, which may use CUDA itself and may have made the
 * context with the driver's interface. card_return() restores them, also after
 * an error.
 */
cudaError_t card_borrow(struct borrowed *theirs, int device);
void card_return(const struct borrowed *theirs, int device);

/* For epf_cuda_ops.probe: makes a context and runs an empty kernel. The current
 * device of this thread must be the card.
 */
int card_probe(const struct card *c, struct epf_cuda_device *device, struct epf_cuda_error *e);

/* Create streams and events unless they exist. The current device of this
 * thread must be the card.
 */
int card_begin(struct card *c, struct epf_cuda_error *e);

/* Wait until nothing is under way, and ignore errors. */
void card_quiet(struct card *c);

/* Ask the card to keep @lines in its cache, if they fit; NULL: none. This is a
 * hint, and errors are ignored.
 */
void card_keep(struct card *c, const struct epf_cu_lines *lines);

int card_alloc(void **p, size_t bytes, const char *what, struct epf_cuda_error *e);

/* Make sure that *@p, which has *@have bytes of the card's memory, has at least
 * @want. If it is too small, its contents are lost. Return: 0; -ENOMEM: *@p is
 * freed.
 */
int card_grow(char **p, size_t *have, size_t want, const char *what, struct epf_cuda_error *e);

/* cards.cu: */

/* Work on a device, which is current meanwhile. Return: 0 or a negative errno, with @e. */
typedef int (*card_fn)(struct card *c, void *ctx, struct epf_cuda_error *e);

/* Select devices, as epf_cuda_ops.probe does. */
int cards_use(__u32 devices, struct epf_cuda_error *e);

__u32 cards_nr(void);

/* @i < cards_nr() */
struct card *cards_at(__u32 i);
__u32 cards_index(const struct card *c);

/* Return: how many have failed; @e: why, for one of them. */
__u32 cards_lost(struct epf_cuda_error *e);

/* Do @work on @c in this thread. After -EIO or -ENODEV the device is not used again,
 * because its results cannot be trusted.
 */
int cards_on(struct card *c, card_fn work, void *ctx, struct epf_cuda_error *e);

/**
 * cards_run() - do work on devices at the same time
 * @most: use at most so many of those that have not failed
 * @work: in a thread for each; the first runs in the calling thread
 *
 * If all of these fail and others are left, the others do it.
 *
 * Return: 0, also if some of them failed (see cards_lost()); -EIO: all devices have
 * failed; another negative errno of @work.
 */
int cards_run(__u64 most, card_fn work, void *ctx, struct epf_cuda_error *e);

/* flow.cu: */

/**
 * flow_up() - copy to the card
 * @c: card
 * @to: memory of the card
 * @from: memory of the host
 * @bytes: bytes to copy
 * @words: others may write to @from meanwhile: copy whole words
 * @threads: threads that copy into pinned memory; 0: a default
 *
 * Return: 0, after all bytes are copied; a negative errno.
 */
int flow_up(struct card *c, void *to, const void *from, size_t bytes, bool words, __u32 threads,
	    struct epf_cuda_error *e);

/**
 * struct question - keys that are looked up, by one device or by several: each takes the
 * next piece when it has room for it
 * @held: lines
 * @host: keys in memory of the host, or NULL
 * @column: keys on the devices, if @host is NULL
 * @first: number of the first key in @column
 * @n: number of keys
 * @len: as in struct epf_cuda_keys
 * @a: as in epf_cuda_ops.query
 * @bytes: bytes of a key
 * @piece: keys of a piece, which a slot holds
 * @caller: the thread that calls @a->progress
 * @told: answered keys at the last of these calls
 * @lock: protects what follows, and the counts in @a
 * @next: the first piece that no device has taken
 * @again: pieces that a device took and did not answer, @nr_again of them
 * @done: keys that have been answered
 * @stopped: no further piece is taken, because a device has returned an error
 */
struct question {
	const struct epf_cuda_held *held;
	const struct epf_cuda_keys *host;
	const struct epf_cuda_column *column;
	__u64 first;
	__u64 n;
	__u32 len;
	struct epf_cuda_answer *a;
	size_t bytes;
	__u64 piece;
	pthread_t caller;
	__u64 told;
	pthread_mutex_t lock;
	__u64 next;
	__u64 again[EPF_CUDA_DEVICES * SLOTS];
	__u32 nr_again;
	__u64 done;
	bool stopped;
};

/* Look up the keys of @q, of which the members up to @a are set. Return: as
 * epf_cuda_ops.query.
 */
int flow_query(struct question *q, struct epf_cuda_error *e);

/* stage.cu: */

/**
 * stage_begin() - begin a copy
 * @s: the copy; if it is still under way from before, it is waited for
 * @to: destination; pinned memory must be aligned to 16
 * @from: source
 * @bytes: bytes to copy
 * @sort: what the copy is for
 * @threads: threads that copy, fewer if there are not so many; 0: a default
 *
 * Source and destination must stay until stage_end().
 */
void stage_begin(struct stage *s, void *to, const void *from, size_t bytes, enum stage_sort sort,
		 __u32 threads);

/* Wait until all is copied; the calling thread helps. */
void stage_end(struct stage *s);

#endif /* EPF_CUDA_ENGINE_H */
