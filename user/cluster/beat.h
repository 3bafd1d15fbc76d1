/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does a thread still make steps? Another one looks, once a second or so. It counts looks, not
 * time, so a process that was stopped, or a machine that slept, has no thread that stands still.
 */
#ifndef CLUSTER_BEAT_H
#define CLUSTER_BEAT_H

#include <linux/types.h>

/**
 * struct beat - of one thread; zeroed: it does not run
 * @steps: atomic: that it made; 0: it does not run. Written by the thread, and by the one that
 *	starts it before it does; read by the one that looks. Relaxed: nothing else depends on it
 * @seen: @steps at the last look; of the thread that looks, as the next one
 * @looks: since @steps changed
 */
struct beat {
	__u64 steps;
	__u64 seen;
	unsigned int looks;
};

/* The thread has made a step, the first with its start. */
static inline void beat_step(struct beat *b)
{
	__atomic_store_n(&b->steps, b->steps + 1, __ATOMIC_RELAXED);
}

/* The thread ends, and may take any time for it: who waits for that makes no steps meanwhile. */
static inline void beat_end(struct beat *b)
{
	__atomic_store_n(&b->steps, 0, __ATOMIC_RELAXED);
}

/* Return: looks in a row, this one included, that found no new step of a thread that runs. */
static inline unsigned int beat_look(struct beat *b)
{
	__u64 steps = __atomic_load_n(&b->steps, __ATOMIC_RELAXED);

	b->looks = steps && steps == b->seen ? b->looks + 1 : 0;
	b->seen = steps;
	return b->looks;
}

#endif /* CLUSTER_BEAT_H */
