// SPDX-License-Identifier: GPL-2.0
/* The filter is the module's. */
#define EPF_MODULE
#include "nf.bpf.c"
