/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Audits on the command line: the request and the result. */
#ifndef EPFCTL_CMD_AUDIT_H
#define EPFCTL_CMD_AUDIT_H

#include <sys/stat.h>

#include <xxhash.h>

#include "jobs/job.h"
#include "jobs/target.h"
#include "cmd.h"
#include "libepf/atomic_file.h"

#define AUDIT_KEYS_MAX 64

/* The outputs, in the order in which they get their names. Answers are written key by key; a
 * plot is drawn when they are complete.
 */
enum { OUT_BITMAP, OUT_AGES, OUT_RECORDS, AUDIT_ANSWERS, OUT_PLOT = AUDIT_ANSWERS, AUDIT_OUTS };

/**
 * struct audit_ask - the request
 * @target: filter or snapshot
 * @place: how a filter is asked
 * @spec: how keys are read and looked up; without descriptors
 * @digests: keys are digests
 * @probe: number of random keys to ask for
 * @agent: its socket; NULL: the usual one, if there is an agent
 * @no_agent: do the audit here in any case
 * @devices: GPUs were named, which this process is to use
 * @resume: continue an interrupted audit, and keep what a later continuation needs
 * @keys: files; "-": standard input
 * @nr_keys: how many
 * @unit_keys: by ranks: keys of a column that one takes at a time; of lines, as many times
 *	64 bytes; 0: the usual number
 * @copy: by ranks: how many copies of the snapshot
 * @out: files to write, one for each of @keys and kind of output
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
	bool devices;
	bool resume;
	const char *keys[AUDIT_KEYS_MAX];
	int nr_keys;
	__u64 unit_keys;
	enum ranks_copy copy;
	const char *out[AUDIT_OUTS][AUDIT_KEYS_MAX];
	int nr_out[AUDIT_OUTS];
};

/**
 * struct audit_result - the result for one file of keys
 * @keys: its name
 * @out: names of the outputs, or NULL
 * @state: at the end; its @why is not used
 * @why: why this engine was used
 * @fallen: the first engine failed, or one of its devices: @why says how
 * @by_agent: epfagent did the audit
 * @resumed: keys that were answered before the interruption
 * @took_ns: time that the others took
 * @epoch: of the filter at the end
 * @fpr: estimated error; negative: unknown
 * @met: error that random keys found; no keys: none were asked for
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
/* The estimated error of an open target; negative: unknown. */
double audit_error_of(const struct target *t, unsigned int threads);
/* Warn of an open target whose answers may surprise. @fpr: its error; negative: unknown */
void audit_warn_of(const struct target *t, double fpr);
/* The approximate number of keys in a file. */
__u64 audit_keys_of(const struct audit_ask *ask, const struct stat *st);
/* Print that torn_file() is set. Return: EXIT_FAIL. */
int audit_fails_torn(const char *keys);

/* audit_ranks.c: the same by all ranks of epfmpi; NULL in epfctl. @ret: 0, or EXIT_FAIL:
 * this rank has found an error in @ask.
 */
int audit_by_ranks(const struct audit_ask *ask, int ret) __attribute__((weak));

/* audit_out.c: outputs, which are complete or absent, or kept to be continued */

/**
 * struct audit_out - a file being written
 * @name: as given; NULL: none
 * @file: where it goes
 * @kept: @file.temp is the name of an unfinished file, which stays
 * @fd: -1: none
 * @sum: of its first @summed bytes; NULL: of none
 */
struct audit_out {
	const char *name;
	struct epf_file file;
	bool kept;
	int fd;
	XXH3_state_t *sum;
	__u64 summed;
};

/* The suffixes of unfinished files and of their state. */
#define AUDIT_PARTIAL ".partial"
#define AUDIT_STATE ".resume"
#define AUDIT_MARKS ".marks" /* after that of the state */
#define AUDIT_PARTS AUDIT_STATE ".parts"

/* Begin an output. @resume: continue an unfinished file, if there is one; @known: a state
 * describes it. Return: 0, or EXIT_FAIL with an error printed.
 */
int audit_out_open(struct audit_out *o, int what, const char *name, bool resume, bool known);
/* The XXH3-64 of its first @bytes, not fewer than were summed before; 0: of no file or no bytes.
 * Return: 0, or a negative errno: -EINVAL: it has fewer.
 */
int audit_out_sum(struct audit_out *o, __u64 bytes, __u64 *sum);
/* Sync it. Return: 0, or a negative errno. */
int audit_out_sync(const struct audit_out *o);
/* The output is complete: sync and close it. Return: 0, or EXIT_FAIL with an error
 * printed.
 */
int audit_out_finish(struct audit_out *o);
/* Then give it its name. Return: 0, or EXIT_FAIL with an error printed. */
int audit_out_commit(struct audit_out *o);
/* Both for all outputs: after an error before the first has its name, none has it. */
int audit_outs_commit(struct audit_out *out);
/* Give it the name of an unfinished file. @known: a state describes the file that has that
 * name. Return: 0, or a negative errno: -EEXIST: another program owns the file.
 */
int audit_out_keep(struct audit_out *o, bool known);
/* Close it. It is removed unless it is kept. */
void audit_out_close(struct audit_out *o);

/* audit_state.c: where an audit was interrupted */

/**
 * struct audit_state - what an unfinished audit is about, and how far it is
 * @snapshot_header: sum of the header, without what depends on the hash key
 * @snapshot_mtime: time of change of the snapshot, ns
 * @keys_bytes: size of the file of keys
 * @keys_mtime: its time of change, ns
 * @asked: sum of the options that matter
 * @bitmap: sum of the bitmap up to the mark
 * @ages: audit_out_sum() of the ages up to the mark
 * @records: likewise of the records
 * @mark: how far it is
 */
struct audit_state {
	__u64 snapshot_header;
	__u64 snapshot_mtime;
	__u64 keys_bytes;
	__u64 keys_mtime;
	__u64 asked;
	__u64 bitmap;
	__u64 ages;
	__u64 records;
	struct job_checkpoint mark;
};

/* Fill in what the audit is about, without the sums and @mark. */
void audit_state_of(struct audit_state *s, const struct audit_ask *ask, const struct target *t,
		    const struct stat *keys, const struct audit_out *out);

/**
 * audit_state_load() - read a state
 * @s: what the audit is about; the rest is set, to zeros if there is no state
 * @path: of the state
 * @out: the unfinished files
 *
 * Return: 0, or EXIT_FAIL with an error printed: it is damaged, or belongs to another
 * audit.
 */
int audit_state_load(struct audit_state *s, const char *path, struct audit_out *out);

/* Sync @out, then write the state completely or not at all. Return: 0, or a negative
 * errno.
 */
int audit_state_save(const struct audit_state *s, const char *path, const struct audit_out *out);

/* audit_marks.c: which units of an audit by ranks are done */

/**
 * struct audit_mark - a unit that is done
 * @mark: its keys, of which the first is not the first of the file
 * @keyless: as in struct job_state
 * @bad: likewise
 * @left_out: likewise
 * @spanning: likewise
 * @format: enum rec_format of the input
 * @bitmap: XXH3-64 of its bytes of the bitmap
 * @ages: likewise of the ages; of no bytes, if they were not asked for
 * @records: likewise of the records; 0, if they were not asked for
 * @resumed: its keys, if they were answered before an interruption
 *
 * All are __u64, so that marks can be added up.
 */
struct audit_mark {
	struct job_checkpoint mark;
	__u64 keyless;
	__u64 bad;
	__u64 left_out;
	__u64 spanning;
	__u64 format;
	__u64 bitmap;
	__u64 ages;
	__u64 records;
	__u64 resumed;
};

/* Make the file of marks beside a state, or keep the one that is there. Return: a descriptor,
 * or a negative errno.
 */
int audit_marks_make(const char *state_path, bool keep);
int audit_marks_open(const char *state_path);
void audit_marks_remove(const char *state_path);

/**
 * audit_marks_put() - mark a unit as done
 * @fd: marks
 * @unit: its number
 * @size: of the units: marks of others are not found
 * @s: what the audit is about: marks of another one are not found
 * @m: the mark
 *
 * Return: 0, or a negative errno.
 */
int audit_marks_put(int fd, __u64 unit, __u64 size, const struct audit_state *s,
		    const struct audit_mark *m);
/* Return: is there an undamaged mark of this unit? */
bool audit_marks_get(int fd, __u64 unit, __u64 size, const struct audit_state *s,
		     struct audit_mark *m);
/* Add @m, number by number. */
void audit_mark_add(struct audit_mark *to, const struct audit_mark *m);

/* audit_report.c */

/* Print it, and warn of a result that may surprise. */
void audit_report(const struct target *t, const struct audit_result *r);
/* Write the rest of a script, see plot.h: the ages as bars. */
void audit_script(FILE *to, const struct target *t, const struct audit_result *r);

#endif /* EPFCTL_CMD_AUDIT_H */
