/* SPDX-License-Identifier: GPL-2.0 */
/* Time. */
#ifndef EPF_COMMON_CLOCK_H
#define EPF_COMMON_CLOCK_H

#include <time.h>

#include <linux/types.h>

#define NS_PER_SEC 1000000000ULL

/* CLOCK_MONOTONIC, in ns. */
static inline __u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (__u64)t.tv_sec * NS_PER_SEC + (__u64)t.tv_nsec;
}

#endif /* EPF_COMMON_CLOCK_H */
