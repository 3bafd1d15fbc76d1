// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xdp_dedup with pure BPF filters. */
#define EPF_INLINE
#include "xdp_dedup.bpf.c"
