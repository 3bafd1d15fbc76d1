/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prints executions.
 */
#ifndef EPF_EXPLORE_TRACE_H
#define EPF_EXPLORE_TRACE_H

#include "search.h"

void trace_print(const struct mc_scene *scene, const struct search_result *r);

#endif /* EPF_EXPLORE_TRACE_H */
