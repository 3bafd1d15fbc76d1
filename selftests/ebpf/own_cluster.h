/* SPDX-License-Identifier: GPL-2.0 */
/* The one variable of own_cluster.bpf.c. */
#ifndef OWN_CLUSTER_H
#define OWN_CLUSTER_H

#include <linux/types.h>

/**
 * struct own_cluster - what a program does, and its result
 * @verdict: out
 * @inserts: test and insert; otherwise only test
 * @key: of own_cluster_key
 */
struct own_cluster {
	__s32 verdict;
	__u32 inserts;
	__u32 key;
};

#endif /* OWN_CLUSTER_H */
