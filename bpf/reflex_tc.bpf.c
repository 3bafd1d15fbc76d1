// SPDX-License-Identifier: GPL-2.0
/* Both programs of tc. */
#define EPF_TC
#include "reflex.bpf.c"
