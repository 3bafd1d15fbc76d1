/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time. */
#ifndef EPF_COMMON_CLOCK_H
#define EPF_COMMON_CLOCK_H

#include "libepf/clock.h"

#define NS_PER_SEC 1000000000ULL

/* The kernel's monotonic clock, in ns. */
static inline __u64 now_ns(void)
{
	return epf_clock_ns();
}

#endif /* EPF_COMMON_CLOCK_H */
