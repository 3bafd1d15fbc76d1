/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An audit by ranks: what its files share. */
#ifndef EPFCTL_AUDIT_RANKS_H
#define EPFCTL_AUDIT_RANKS_H

#include "cmd_audit.h"

/**
 * struct part - a file of keys, and what is written of it
 * @fd: the file
 * @st: its status
 * @units: units that it is cut into
 * @unit: keys of each of a column, bytes of each of lines; 0: the file is one unit
 * @lines: units are lines. How many keys are before those of a unit is known when all units
 *	are done; until then each has room of its own in @piece
 * @format: of lines
 * @count: of lines: keys of each unit, then bytes of the records of each
 * @out: outputs, in rank 0
 * @path: names of the unfinished outputs
 * @piece: names of files in which answers of lines are, until they are joined
 * @file: of bitmap and ages: units write here
 * @state: what the audit is about
 * @state_path: where that is saved
 * @fresh: no interrupted audit left one, so that a start that fails removes it
 * @marks: marks of its units
 */
struct part {
	int fd;
	struct stat st;
	__u64 units;
	__u64 unit;
	bool lines;
	enum rec_format format;
	__u64 *count;
	struct audit_out out[AUDIT_OUTS];
	char *path[AUDIT_ANSWERS];
	char *piece[AUDIT_ANSWERS];
	struct ranks_file *file[AUDIT_ANSWERS];
	struct audit_state state;
	char *state_path;
	bool fresh;
	int marks;
};

/* Open an output in all ranks; those in which it fails say why. Return: 0, or EXIT_FAIL in all
 * ranks.
 */
int audit_open_shared(struct ranks_file **file, const char *path);

/* audit_lines.c: units of lines */

/* Cut a file of records into units, if its records are lines, and it has several. All. Return:
 * 0, or EXIT_FAIL with an error printed, in all ranks.
 */
int audit_cut_lines(struct part *p, const struct audit_ask *ask, const struct target *t);
/* Where the records of a unit are in @piece. A line may end behind its unit. */
__u64 audit_records_at(const struct part *p, __u64 unit);
/* All units are done: join their answers in the outputs. All. Return: 0, or EXIT_FAIL with an
 * error printed, in all ranks.
 */
int audit_join_lines(struct part *p);
/* Remove state, marks and pieces. */
void audit_forget(const struct part *p);

#endif /* EPFCTL_AUDIT_RANKS_H */
