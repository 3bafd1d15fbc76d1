// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* reflex for a loader without CAP_PERFMON. */
#include "reflex.bpf.c"
