// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Both programs of tc. */
#define EPF_TC
#include "reflex.bpf.c"
