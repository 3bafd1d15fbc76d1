/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Included before every file of user/: the kernel's short integer names do not
 * exist here; __u8 .. __u64 are the ABI's and the core's.
 */
#ifndef EPF_POISON_H
#define EPF_POISON_H

#include <sys/epoll.h> /* has members of two of these names; sd-event.h includes it */

#pragma GCC poison u8 u16 u32 u64 s8 s16 s32 s64

#endif /* EPF_POISON_H */
