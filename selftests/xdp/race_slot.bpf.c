// SPDX-License-Identifier: GPL-2.0
/* The mutant that race.c must detect. */
#define RACE_SLOT
#include "race.bpf.c"
