/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scenes with the ring of a journal: writers that insert a key into a word and record
 * it, and a reader that copies the word and follows the records. Properties:
 *
 *   torn     Each record that is read was written, is complete, and is read once.
 *   told If no loss is reported to the reader, it has every key in its copy or from a
 *            record when all writers have ended. It does not wait forever.
 *   room     If all records fit into the ring, no loss is reported.
 */
#ifndef EPF_EXPLORE_JOURNAL_H
#define EPF_EXPLORE_JOURNAL_H

#include "scene.h"

void journal_set_up(const struct mc_scene *s);
void journal_run(const struct scene_role *r);
void journal_note(const struct mc_op *op);

#endif /* EPF_EXPLORE_JOURNAL_H */
