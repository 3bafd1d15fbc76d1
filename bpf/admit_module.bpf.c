// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The filter belongs to the module. */
#define EPF_MODULE
#include "admit.bpf.c"
