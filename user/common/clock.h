/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time. */
#ifndef EPF_COMMON_CLOCK_H
#define EPF_COMMON_CLOCK_H

#include <time.h>

#include <linux/types.h>

#define NS_PER_SEC 1000000000ULL

/* Time of a clock, in ns. */
static inline __u64 clock_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (__u64)t.tv_sec * NS_PER_SEC + (__u64)t.tv_nsec;
}

/* CLOCK_MONOTONIC, in ns. */
static inline __u64 now_ns(void)
{
	return clock_now_ns(CLOCK_MONOTONIC);
}

#endif /* EPF_COMMON_CLOCK_H */
