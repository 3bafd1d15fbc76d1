/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes with one line of kind elastic: initial state, programs, properties.
 */
#ifndef EPF_EXPLORE_ELASTIC_H
#define EPF_EXPLORE_ELASTIC_H

#include "scene.h"

#define ELASTIC_EPOCHS 2u /* r */

/* elastic.c */
void elastic_set_up(const struct mc_scene *s);
void elastic_run(const struct scene_role *r);
__u64 elastic_digest(int key);
int elastic_begin(int key, __u64 *epoch);

/* elastic_laws.c */
void elastic_access(int word);
void elastic_write(int word);
void elastic_note(int t, const struct mc_op *op);

#endif /* EPF_EXPLORE_ELASTIC_H */
