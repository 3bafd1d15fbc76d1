/* SPDX-License-Identifier: GPL-2.0 */
/* A device with filters that there are not, in the place of libepf's. */
#ifndef METRICS_FAKE_H
#define METRICS_FAKE_H

#include <stdbool.h>

/**
 * fake_case() - make the filters of a case
 * @name: kinds, zeros, ones, many, names, vanishing, none; or away, closed,
 *	no_descriptor, no_list, no_filter, no_info: calls that fail
 *
 * Return: whether there is such a case.
 */
bool fake_case(const char *name);

/* What the device tells, as JSON, but for filters that it does not let read. */
void fake_print(void);

/* Descriptors of filters that are open. */
int fake_open_filters(void);

#endif /* METRICS_FAKE_H */
