// SPDX-License-Identifier: GPL-2.0
/* lanes.bpf.c as built for machines other than x86: its fences are atomics. */
#undef __TARGET_ARCH_x86
#include "lanes.bpf.c"
