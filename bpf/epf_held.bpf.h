/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The map that holds a filter of the module for one attachment. Programs pass the map to
 * the module's functions and never take the reference out.
 */
#ifndef EPF_HELD_BPF_H
#define EPF_HELD_BPF_H

#include "epf_kfunc.bpf.h"

struct epf_held {
	EPF_KPTR *filter;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_held);
} epf_held SEC(".maps");

#endif /* EPF_HELD_BPF_H */
