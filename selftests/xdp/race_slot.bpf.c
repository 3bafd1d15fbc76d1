// SPDX-License-Identifier: GPL-2.0
/* What race.c must notice. */
#define RACE_SLOT
#include "race.bpf.c"
