/* SPDX-License-Identifier: GPL-2.0 */
/* The clocks of clock_gettime(2), for benchmarks and tools. */
#ifndef SELFTESTS_CLOCK_H
#define SELFTESTS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC. */
static inline uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline double wall_s(void)
{
	return (double)wall_ns() * 1e-9;
}

/* The CPU time of this thread. */
static inline uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline double cpu_s(void)
{
	return (double)cpu_ns() * 1e-9;
}

#endif /* SELFTESTS_CLOCK_H */
