/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of an attachment: read, shown as text and as JSON. */
#ifndef EPFCTL_OUTCOME_H
#define EPFCTL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "epf/outcome.h"

/* The map of counters of programs that have a rule. */
struct xdp_map;
extern const struct xdp_map outcome_map;

extern const char *const outcome_names[EPF_OUTCOMES];

/* Sum over all CPUs the counters at offset @at of the values of a map, each of @bytes. Prints no
 * errors.
 */
int outcome_sum(int fd, size_t bytes, size_t at, struct epf_counts *sum);
/* The same of a pinned outcome_map. */
int outcome_read(const char *ifname, struct epf_counts *sum);

#define OUTCOME(NAME) (1u << EPF_OUT_##NAME)

/* Set of the outcomes that every program can have whose key needs headers. @asks: it looks packets
 * up; @control: it passes control packets; @clustered: it asks the filter of all, too
 */
__u32 outcome_possible(bool asks, bool control, bool clustered);

/**
 * struct outcome_view - counters, and what they mean
 * @counts: summed over CPUs
 * @side: names of the sides; NULL: there is only the first one, without a name
 * @possible: sets of outcomes, by side
 * @verdict: what happens to packets of an outcome
 * @of: its first argument
 */
struct outcome_view {
	const struct epf_counts *counts;
	const char *const *side;
	__u32 possible[EPF_COUNT_SIDES];
	const char *(*verdict)(const void *of, unsigned int side, enum epf_outcome outcome);
	const void *of;
};

/* A line for each counter that is not 0. */
void outcome_print(const struct outcome_view *v);
/* By side, if they have names; then by the name of what is possible: verdict, packets, bytes. */
json_t *outcome_json(const struct outcome_view *v);

/* What could not be done with packets, by enum epf_effect. */
json_t *outcome_effects(const struct epf_counts *counts);

#endif /* EPFCTL_OUTCOME_H */
