// SPDX-License-Identifier: GPL-2.0
/* The filter belongs to the module. */
#define EPF_MODULE
#include "nf.bpf.c"
