/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ends the epochs of pure BPF filters (ebpf/ebpf.h).
 *
 * One thread looks for filters in the BPF file system, and each filter has a thread of
 * its own. A filter is therefore not delayed by another one's grace period or by a lock
 * that somebody keeps, nor by audits, clients and directories, which have other threads.
 *
 * A filter that another process holds is taken over when that process is gone.
 *
 * Without libbpf these functions are NULL.
 */
#ifndef EPFAGENT_HOLD_H
#define EPFAGENT_HOLD_H

#include <jansson.h>
#include <stdbool.h>

#include <linux/epochfilter.h>

#include "metrics/stats.h"

#define HOLD_NAMES_MAX 64

enum hold_which { HOLD_ALL, HOLD_NONE, HOLD_NAMED };

/**
 * struct hold_conf - the filters to hold
 * @which: all, none, or those named
 * @name: HOLD_NAMED: their names
 * @nr: how many
 */
struct hold_conf {
	enum hold_which which;
	char name[HOLD_NAMES_MAX][EPF_NAME_LEN];
	unsigned int nr;
};

struct holds;

/**
 * holds_start() - start to hold filters
 * @h: result
 * @conf: which filters; copied
 * @stats: counters; must be valid until holds_stop()
 *
 * Return: 0; -ENOMEM; other errors of system calls.
 */
int holds_start(struct holds **h, const struct hold_conf *conf, struct agent_stats *stats)
	__attribute__((weak));
/* At most HOLD_LIST_MAX of the filters, and which of them are held. Context: any thread. */
json_t *holds_json(struct holds *h) __attribute__((weak));
#define HOLD_LIST_MAX 256
/* Waits for running steps: milliseconds, see ebpf_hold_step(). @h may be NULL. */
void holds_stop(struct holds *h) __attribute__((weak));

#endif /* EPFAGENT_HOLD_H */
