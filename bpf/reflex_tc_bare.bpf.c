// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* reflex_tc for a loader without CAP_PERFMON. */
#define EPF_TC
#include "reflex.bpf.c"
