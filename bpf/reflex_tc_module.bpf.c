// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Both programs of tc; the filter belongs to the module. */
#define EPF_TC
#define EPF_MODULE
#include "reflex.bpf.c"
