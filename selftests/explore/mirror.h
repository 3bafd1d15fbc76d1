/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lanes with a journal, and the mirror that reads it: a copy of the lines to which
 * records are applied, as in user/libepf/mirror.c; and the end of a journal when its
 * filter gets another table, as in kmod/filter.c and kmod/journal.c.
 *
 * Properties:
 *
 *   equal   A mirror to which no loss was reported, and that has followed until all
 *           writers have ended, has the filter's epoch and bits, after both are
 *           emptied of what is stale.
 *   found   A key whose insertion returned before the mirror follows is in the mirror,
 *           or the mirror sees that the journal is over.
 *   room    A loss is reported only if there are more records than slots.
 */
#ifndef EPF_EXPLORE_MIRROR_H
#define EPF_EXPLORE_MIRROR_H

#include "scene.h"

void mirror_set_up(const struct mc_scene *s);
void mirror_run(const struct scene_role *r);
void mirror_note(const struct mc_op *op);

#endif /* EPF_EXPLORE_MIRROR_H */
