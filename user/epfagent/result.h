/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Results beside a watched file NAME: NAME.bitmap, NAME.ages, NAME.records, and the
 * verdict NAME.audit.json, which is written last. If it exists and describes the current
 * file, the others are complete and belong to that file.
 *
 * Results are created under temporary names, synced, and renamed. A directory has one
 * temporary name for each part, because one agent audits one file of it at a time. Files
 * left by an agent that was killed are not results, and are created anew.
 */
#ifndef EPFAGENT_RESULT_H
#define EPFAGENT_RESULT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "epfagent/task.h"

/* The results that have a descriptor; the verdict has none. */
enum result_part { RESULT_BITMAP, RESULT_AGES, RESULT_RECORDS, RESULT_PARTS };

/**
 * struct result - the results of a file
 * @dir: descriptor of its directory, owned by the caller
 * @name: name of the file
 * @filter: name of the filter, for the verdict
 * @before: status of the file when the audit began
 * @part: requested parts
 * @mode: permissions of all results
 * @gid: group of all results; -1: unchanged
 * @again: out: the file changed meanwhile, and has no result
 * @later: out: the file has no result for a reason that may pass
 */
struct result {
	int dir;
	char name[NAME_MAX + 1];
	const char *filter;
	struct stat before;
	bool part[RESULT_PARTS];
	mode_t mode;
	gid_t gid;
	bool again;
	bool later;
};

/* Can a file of this name be audited? It must not be a result or hidden, and its name
 * must leave room for the names of its results.
 */
bool result_wanted(const char *name);

/* Is there a verdict for the file as @st describes it? */
bool result_there(int dir, const char *name, const struct stat *st);

/**
 * result_measure() - look at results that exist
 * @dir: directory
 * @entry: a name in it, of any kind
 * @name: the file that the results belong to
 * @time_ns: when the verdict was written, CLOCK_REALTIME
 * @bytes: size of what result_remove() would remove
 * @spent: nothing would be removed by result_remove()
 *
 * Return: @entry is a verdict: a regular file with one link that belongs to the agent's user.
 */
bool result_measure(int dir, const char *entry, char name[NAME_MAX + 1], __u64 *time_ns,
		    __u64 *bytes, bool *spent);

/* Remove the parts of file @name, and if that file is gone its verdict too; else the verdict
 * stays, or the file would be audited again. A verdict that does not name the file is not of
 * this agent. Return: something was removed.
 */
bool result_remove(int dir, const char *name);

/**
 * result_open() - create the parts, under their temporary names
 * @r: results
 * @fd: set to their descriptors; -1: not requested
 *
 * Return: 0; a negative errno: none is open.
 */
int result_open(const struct result *r, int fd[RESULT_PARTS]);

/**
 * result_finish() - rename the parts, then write the verdict
 * @r: results
 * @fd: parts, still open
 * @t: task that has ended; if @ret is an error, the verdict has the text of @t->error
 * @ret: result of the task; -ECANCELED: nothing is kept
 *
 * Context: syncs files.
 *
 * Return: @ret; if there is no verdict, the reason: -EAGAIN: the file changed meanwhile;
 * -EBUSY, -ENOMEM: temporary; other errors of system calls.
 */
int result_finish(struct result *r, const int fd[RESULT_PARTS], struct task *t, int ret);

#endif /* EPFAGENT_RESULT_H */
