/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The properties, checked at every step. The first one violated is stored in mc.broke.
 */
#ifndef EPF_EXPLORE_LAWS_H
#define EPF_EXPLORE_LAWS_H

#include "machine.h"

void law_broken(const char *law);
void law_access(int word);
void law_load(int word, __u64 v);
void law_write(int word);
void law_note(int t, const struct mc_op *op);

#endif /* EPF_EXPLORE_LAWS_H */
