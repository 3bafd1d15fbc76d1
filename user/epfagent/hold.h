/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ends the epochs of filters that are pure BPF (ebpf/ebpf.h).
 *
 * One thread looks for filters in the BPF file system; each filter has a thread of
 * its own. So nothing makes a filter late that has to do with another one: no
 * grace period, no lock that somebody keeps; nor does an audit, a client or a
 * directory, which have other threads.
 *
 * A filter that another process holds is taken over when that process is gone.
 *
 * Without libbpf these functions are NULL.
 */
#ifndef EPFAGENT_HOLD_H
#define EPFAGENT_HOLD_H

#include <stdbool.h>

#include <linux/epochfilter.h>

#include "epfagent/stats.h"

#define HOLD_NAMES_MAX 64

enum hold_which { HOLD_ALL, HOLD_NONE, HOLD_NAMED };

/**
 * struct hold_conf - which filters
 * @which: which
 * @name: HOLD_NAMED: these
 * @nr: how many
 */
struct hold_conf {
	enum hold_which which;
	char name[HOLD_NAMES_MAX][EPF_NAME_LEN];
	unsigned int nr;
};

struct holds;

/**
 * holds_start() - hold filters from now on
 * @h: result
 * @conf: which; copied
 * @stats: counters, until holds_stop()
 *
 * Return: 0; -ENOMEM; what the calls to the system say.
 */
int holds_start(struct holds **h, const struct hold_conf *conf,
		struct agent_stats *stats) __attribute__((weak));
/* Waits for what is under way: milliseconds, see ebpf_hold_step(). @h may be NULL. */
void holds_stop(struct holds *h) __attribute__((weak));

#endif /* EPFAGENT_HOLD_H */
