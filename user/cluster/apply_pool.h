/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that insert the digests of one message together. The caller is one of them. A
 * batch is taken in chunks by whoever is free, and apply_pool_insert() returns when the last
 * chunk is done: a message is all there, or an error was returned. Nothing is queued beyond
 * the batch in hand, so a pool that is too slow delays its caller as one thread would.
 */
#ifndef CLUSTER_APPLY_POOL_H
#define CLUSTER_APPLY_POOL_H

#include <linux/types.h>

#define APPLY_THREADS_MAX 32u
#define APPLY_CHUNK 800u /* digests: two runs of the BPF program that inserts, some 0.3 ms */

struct apply_pool;

/**
 * typedef apply_chunk - insert digests
 * @ctx: of apply_pool_new()
 * @thread: number of the thread, below that of apply_pool_new(); 0: the caller's
 * @digest: digests
 * @count: how many, at least 1
 *
 * Return: 0: all are inserted; a negative errno: some may be missing.
 */
typedef int apply_chunk(void *ctx, unsigned int thread, const __u64 *digest, __u32 count);

/**
 * apply_pool_new() - start the threads
 * @pool: result; NULL on failure
 * @threads: how many insert, 1 to APPLY_THREADS_MAX, the caller among them
 * @insert: called by all of them at the same time
 * @ctx: for @insert
 *
 * Return: 0; -ENOMEM; an error of starting threads.
 */
int apply_pool_new(struct apply_pool **pool, unsigned int threads, apply_chunk *insert, void *ctx);

/* End the threads. @pool may be NULL. */
void apply_pool_free(struct apply_pool *pool);

/**
 * apply_pool_insert() - insert a batch
 * @pool: pool
 * @digest: digests
 * @count: how many
 *
 * Context: one thread at a time. Waits for all threads that insert a part of the batch.
 *
 * Return: 0: all are inserted, and found by whoever learns that from the caller; the first
 * error of @insert: some may be missing.
 */
int apply_pool_insert(struct apply_pool *pool, const __u64 *digest, __u32 count);

#endif /* CLUSTER_APPLY_POOL_H */
