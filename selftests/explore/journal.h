/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes with the ring of a journal: writers that insert a key into a word and
 * record it, a reader that copies the word and follows. The laws:
 *
 *   torn     A record that is read is one that was put, whole, and once.
 *   told     Who is told of no loss has, when all writers are over, every key
 *            in the copy or in a record; nor does he wait for ever.
 *   room     Where all records fit into the ring, nobody is told of a loss.
 */
#ifndef EPF_EXPLORE_JOURNAL_H
#define EPF_EXPLORE_JOURNAL_H

#include "scene.h"

void journal_set_up(const struct mc_scene *s);
void journal_run(const struct scene_role *r);
void journal_note(const struct mc_op *op);

#endif /* EPF_EXPLORE_JOURNAL_H */
