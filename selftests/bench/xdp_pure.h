/* SPDX-License-Identifier: GPL-2.0 */
/* Filters as pure BPF, for xdp_bench. Errors are negative errnos. */
#ifndef XDP_PURE_H
#define XDP_PURE_H

#include <linux/types.h>

struct bpf_object;
struct ebpf_hold;

/**
 * struct pure - such a filter, with its own xdp_dedup
 * @obj: its object
 * @hold: holder, which ends its epochs
 */
struct pure {
	struct bpf_object *obj;
	struct ebpf_hold *hold;
};

/* Use the backend in the library; @control serves as the device's descriptor. */
int pure_control(int *control);
/* Load xdp_dedup for filter @name, from the objects in @dir, with packet key @key. */
int pure_load(struct pure *p, const char *dir, const char *name);
int pure_key(const struct pure *p, __u8 key);
/* Do the work that is due, so that the filter is not overdue in the next second. */
int pure_settle(const struct pure *p);
int pure_prog(const struct pure *p);
int pure_slot(const struct pure *p);

#endif /* XDP_PURE_H */
