// SPDX-License-Identifier: GPL-2.0
/* reflex for a loader without CAP_PERFMON. */
#include "reflex.bpf.c"
