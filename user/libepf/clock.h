/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libepf: the clocks of the kernel, which the module and packet programs read, too.
 *
 * In a time namespace, CLOCK_MONOTONIC and CLOCK_BOOTTIME of a process are ahead of them or
 * behind. So only this file reads clocks: a time by the namespace's clock, compared with one of
 * a packet program, would end epochs early or late, and report a cover that is none.
 */
#ifndef LIBEPF_CLOCK_H
#define LIBEPF_CLOCK_H

#include <stdbool.h>
#include <time.h>

#include <linux/types.h>

/* The process's own clock: for timers that wait for a duration, never to read. */
#define EPF_CLOCK_OWN CLOCK_MONOTONIC

/* CLOCK_MONOTONIC of the initial time namespace, in ns. */
__u64 epf_clock_ns(void);
/* CLOCK_BOOTTIME of the initial time namespace, in ns. */
__u64 epf_boot_ns(void);
/* CLOCK_REALTIME, in ns; it is the same in all namespaces. */
__u64 epf_wall_ns(void);

/* In @ns from now, by EPF_CLOCK_OWN: for calls that wait until a time. */
struct timespec epf_clock_after(__u64 ns);

/* Are the offsets of this process's time namespace known? If not (/proc is not mounted), they
 * are taken as 0.
 */
bool epf_clock_known(void);

#endif /* LIBEPF_CLOCK_H */
