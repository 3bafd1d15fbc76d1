// SPDX-License-Identifier: GPL-2.0
/* Both programs of tc; the filter is the module's. */
#define EPF_TC
#define EPF_MODULE
#include "reflex.bpf.c"
