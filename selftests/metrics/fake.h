/* SPDX-License-Identifier: GPL-2.0 */
/* A simulated device with simulated filters, in place of libepf's. */
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

/* Print the device's numbers as JSON, except filters that it does not let read. */
void fake_print(void);

/* Return: the number of open filter descriptors. */
int fake_open_filters(void);

#endif /* METRICS_FAKE_H */
