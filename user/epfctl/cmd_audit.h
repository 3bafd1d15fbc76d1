/* SPDX-License-Identifier: GPL-2.0 */
/* Audits on the command line: what is asked, and what came of it. */
#ifndef EPFCTL_CMD_AUDIT_H
#define EPFCTL_CMD_AUDIT_H

#include <sys/stat.h>

#include "jobs/job.h"
#include "jobs/target.h"
#include "cmd.h"
#include "libepf/atomic_file.h"

#define AUDIT_KEYS_MAX 64

/* What is written; in the order in which it is named. */
enum { OUT_BITMAP, OUT_AGES, OUT_RECORDS, AUDIT_OUTS };

/**
 * struct audit_ask - what is asked
 * @target: filter or snapshot
 * @place: of a filter
 * @spec: how keys are read and asked; without descriptors
 * @digests: keys are digests
 * @probe: random keys to ask for
 * @agent: its socket; NULL: the usual one, if there is an agent
 * @no_agent: work here, whatever there is
 * @resume: go on where an earlier one was interrupted, and keep what is needed
 *	for that
 * @keys: files; "-": standard input
 * @nr_keys: how many
 * @out: files to write, by what, one for each of @keys
 * @nr_out: how many: none, or @nr_keys
 */
struct audit_ask {
	const char *target;
	enum target_place place;
	struct job_spec spec;
	bool digests;
	__u64 probe;
	const char *agent;
	bool no_agent;
	bool resume;
	const char *keys[AUDIT_KEYS_MAX];
	int nr_keys;
	const char *out[AUDIT_OUTS][AUDIT_KEYS_MAX];
	int nr_out[AUDIT_OUTS];
};

/**
 * struct audit_result - what came of the keys of one file
 * @keys: its name
 * @out: names of what was written, or NULL
 * @state: at the end; but for its @why
 * @why: the engine
 * @fallen: another one was begun with, and failed: @why tells
 * @by_agent: epfagent has done the work
 * @resumed: keys that had been asked for before
 * @took_ns: for the others
 * @epoch: of the filter at the end
 * @fpr: estimated error; negative: not known
 * @met: error met by random keys; with no keys: not asked
 */
struct audit_result {
	const char *keys;
	const char *out[AUDIT_OUTS];
	struct job_state state;
	char why[EPF_WHY_LEN];
	bool fallen;
	bool by_agent;
	__u64 resumed;
	__u64 took_ns;
	__u64 epoch;
	double fpr;
	struct epf_met met;
};

/* audit.c. Return: 0, or EXIT_FAIL with an error printed. */
int audit_run(const struct audit_ask *ask);

/* audit_out.c: complete or absent, or kept to be gone on with */

/**
 * struct audit_out - a file being written
 * @name: as asked for; NULL: none
 * @file: where it goes
 * @kept: @file.temp is the name of an unfinished one, which stays
 * @fd: -1: none
 */
struct audit_out {
	const char *name;
	struct epf_file file;
	bool kept;
	int fd;
};

/* Where unfinished files and their state are, beside what they will be. */
#define AUDIT_PARTIAL ".partial"
#define AUDIT_STATE ".resume"

/* Begin. @resume: an unfinished one may be there; @known: and a state that tells
 * of it. Return: 0, or EXIT_FAIL with an error printed.
 */
int audit_out_open(struct audit_out *o, int what, const char *name,
		   bool resume, bool known);
/* Sync it. Return: 0, or a negative errno. */
int audit_out_sync(const struct audit_out *o);
/* It is whole: sync it, and write it no more. Return: 0, or EXIT_FAIL with an
 * error printed.
 */
int audit_out_finish(struct audit_out *o);
/* Then give it its name. Return: 0, or EXIT_FAIL with an error printed. */
int audit_out_commit(struct audit_out *o);
/* Give it the name of an unfinished one. @known: there is a state, which tells of
 * what has that name. Return: 0, or a negative errno: -EEXIST: it is somebody's.
 */
int audit_out_keep(struct audit_out *o, bool known);
/* Close it. One that is not kept is removed. */
void audit_out_close(struct audit_out *o);

/* audit_state.c: where an audit was interrupted */

/**
 * struct audit_state - what an unfinished audit is of, and how far
 * @snapshot_header: sum of its header, without what depends on the hash key
 * @snapshot_mtime: of the file, ns
 * @keys_bytes: of the file of keys
 * @keys_mtime: likewise, ns
 * @asked: sum of the options that matter
 * @bitmap: sum of the bitmap up to the mark
 * @mark: how far
 */
struct audit_state {
	__u64 snapshot_header;
	__u64 snapshot_mtime;
	__u64 keys_bytes;
	__u64 keys_mtime;
	__u64 asked;
	__u64 bitmap;
	struct job_mark mark;
};

/* What it is of; without @bitmap and @mark. */
void audit_state_of(struct audit_state *s, const struct audit_ask *ask,
		    const struct target *t, const struct stat *keys,
		    const struct audit_out *out);

/**
 * audit_state_load() - read one
 * @s: what the audit is of; the rest is set, and zeros where there is none
 * @path: of the state
 * @out: the unfinished files
 *
 * Return: 0, or EXIT_FAIL with an error printed: it is damaged, or of another
 * audit.
 */
int audit_state_load(struct audit_state *s, const char *path,
		     const struct audit_out *out);

/* Write it whole or not at all, when @out is synced. Return: 0, or a negative
 * errno.
 */
int audit_state_save(const struct audit_state *s, const char *path,
		     const struct audit_out *out);

/* audit_report.c */

void audit_print(const struct target *t, const struct audit_result *r);
json_t *audit_json(const struct target *t, const struct audit_result *r);

#endif /* EPFCTL_CMD_AUDIT_H */
