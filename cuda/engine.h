/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host side of the GPU backend: the card, how bytes get there and answers
 * back, and what is held. All is under the lock of engine.cu.
 */
#ifndef EPF_CUDA_ENGINE_H
#define EPF_CUDA_ENGINE_H

#include <epf_cuda.h>
#include <stddef.h>

#include "kernels.h"

#define CARD 0 /* its number */
/* One is filled or emptied, one's keys are on their way, one is asked. Small enough
 * for the ends, where nothing overlaps, to be short.
 */
#define SLOTS 3u
#define BUFFER_BYTES (16u << 20) /* of a slot: see struct slot */

/* What a copy is of. */
enum stage_sort {
	STAGE_KEYS, /* to pinned memory */
	STAGE_LINES, /* likewise, of words that others may write to: none is torn */
	STAGE_ANSWERS, /* from there */
};

/**
 * struct stage - a copy into or out of pinned memory; zeros: none
 * @taken: bytes that somebody has copied, or is about to
 * @left: bytes that are not there yet
 * @next: copy that was begun after it
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
 * struct slot - one of those that take turns
 * @keys: in pinned memory, @in_bytes
 * @keys_there: likewise, on the card
 * @answer: in pinned memory, @out_bytes: counters, bitmap, ages
 * @answer_there: likewise, on the card
 * @fill: copy into @keys
 * @drain: copy from @answer
 * @up: recorded when @keys have been copied
 * @run: when the kernel has answered
 * @down: when @answer has come
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
 * struct card - the card, as soon as it is used
 * @begun: streams and events are there
 * @broken: it has failed: it is not asked again
 * @why: of that
 * @up: stream of copies to the card
 * @run: of kernels
 * @down: of copies from it
 * @buffer: bytes of a slot at most
 * @persisting: bytes of its cache that can be kept for lines
 * @limit: of the process, on those bytes, as it was found
 * @kept: lines for which it is
 * @scratch: on the card, @scratch_bytes: for one call at a time, kept from one to
 *	the next, since giving memory back waits for all that is under way
 */
struct card {
	bool begun;
	bool broken;
	struct epf_cuda_error why;
	cudaStream_t up;
	cudaStream_t run;
	cudaStream_t down;
	struct slot slot[SLOTS];
	size_t buffer;
	size_t persisting;
	size_t limit;
	const struct epf_line *kept;
	char *scratch;
	size_t scratch_bytes;
};

struct epf_cuda_held {
	struct epf_cu_lines lines;
	struct epf_hash hash;
};

struct epf_cuda_column {
	struct epf_cu_keys keys;
};

/* card.cu: */

/* @err as an errno, and one line of it in @e. */
__attribute__((format(printf, 3, 4)))
int card_fails(struct epf_cuda_error *e, cudaError_t err, const char *what, ...);
__attribute__((format(printf, 3, 4)))
int card_wrong(struct epf_cuda_error *e, int err, const char *what, ...);

/* A setting for tests; @otherwise where there is none. */
__u64 card_setting(const char *name, __u64 otherwise);

/* As epf_cuda_ops.probe: it makes a context and runs an empty kernel. The device of
 * this thread is to be the card.
 */
int card_probe(struct epf_cuda_device *device, struct epf_cuda_error *e);

/* Make it ready, where it is not; the device of this thread is to be its. */
int card_begin(struct card *c, struct epf_cuda_error *e);

/* Wait until nothing is under way. What fails then is of no interest. */
void card_quiet(struct card *c);

/* Have the cache keep lines, where they fit; NULL: nothing. A hint: what it
 * cannot have it does without.
 */
void card_keep(struct card *c, const struct epf_cu_lines *lines);

int card_alloc(void **p, size_t bytes, const char *what,
	       struct epf_cuda_error *e);

/* Have at least @want bytes of the card at *@p, where *@have are. What was there
 * is lost if that is too small. Return: 0; -ENOMEM: nothing is there any more.
 */
int card_grow(char **p, size_t *have, size_t want, const char *what,
	      struct epf_cuda_error *e);

/* flow.cu: */

/**
 * flow_up() - copy to the card
 * @c: card
 * @to: memory of the card
 * @from: words, where @words, that others may write to meanwhile
 * @bytes: of them
 * @threads: that copy into pinned memory; 0: a few
 *
 * Return: 0, when all is there; an errno.
 */
int flow_up(struct card *c, void *to, const void *from, size_t bytes,
	    bool words, __u32 threads, struct epf_cuda_error *e);

/**
 * flow_query() - ask
 * @c: card
 * @held: lines
 * @host: keys, or NULL:
 * @there: those of the card
 * @a: as epf_cuda_ops.query
 */
int flow_query(struct card *c, const struct epf_cuda_held *held,
	       const struct epf_cuda_keys *host, const struct epf_cu_keys *there,
	       struct epf_cuda_answer *a, struct epf_cuda_error *e);

/* stage.cu: */

/**
 * stage_begin() - begin a copy
 * @s: it; what it was before is waited for
 * @to: memory; aligned to 16 where it is pinned
 * @from: memory
 * @bytes: of them
 * @sort: of what
 * @threads: that copy, or as many as there are to be had; 0: a few
 *
 * What is copied, and where to, stays until stage_end().
 */
void stage_begin(struct stage *s, void *to, const void *from, size_t bytes,
		 enum stage_sort sort, __u32 threads);

/* Wait until all is copied; the caller helps. */
void stage_end(struct stage *s);

#endif /* EPF_CUDA_ENGINE_H */
