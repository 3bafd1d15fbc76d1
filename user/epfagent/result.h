/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results beside a watched file NAME: NAME.bitmap, NAME.ages, NAME.records, and
 * NAME.audit.json, which is written last: where it is, and tells of the file
 * that is there now, the others are whole and belong to it.
 *
 * They are made under temporary names (of which a directory has one each, since
 * one agent does one file of it at a time), synced, and renamed. Whatever is left
 * by an agent that was killed is no result, and is made anew.
 */
#ifndef EPFAGENT_RESULT_H
#define EPFAGENT_RESULT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "epfagent/task.h"

/* What is beside a file, by descriptor; the verdict itself has none. */
enum result_part { RESULT_BITMAP, RESULT_AGES, RESULT_RECORDS, RESULT_PARTS };

/**
 * struct result - a file that is audited
 * @dir: descriptor of its directory; the caller's
 * @name: of the file
 * @filter: what was asked, for the verdict
 * @before: of the file, when the audit began
 * @part: parts that are wanted
 * @mode: permissions of all of it
 * @gid: group of all of it; -1: as it comes
 * @again: out: it was changed meanwhile, and has no result
 * @later: out: it has none for a reason that may pass
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

/* Can a file of this name be audited? Not a result, nor hidden, nor one with a
 * name that leaves no room for those of its results.
 */
bool result_wanted(const char *name);

/* Is there a verdict for the file as @st describes it? */
bool result_there(int dir, const char *name, const struct stat *st);

/**
 * result_open() - make the parts, under their temporary names
 * @r: which
 * @fd: their descriptors; -1 where none is wanted
 *
 * Return: 0; a negative errno: none is open.
 */
int result_open(const struct result *r, int fd[RESULT_PARTS]);

/**
 * result_finish() - parts get their names, then the verdict is written
 * @r: which
 * @fd: parts, still open
 * @t: task that has ended; @t->error is what the verdict tells where @ret is an
 *	error
 * @ret: how it ended; -ECANCELED: nothing is kept
 *
 * Context: syncs files.
 *
 * Return: @ret; where there is no verdict an error that tells why: -EAGAIN: the
 * file was changed meanwhile; -EBUSY, -ENOMEM: may pass; else what the calls to
 * the system say.
 */
int result_finish(struct result *r, const int fd[RESULT_PARTS], struct task *t,
		  int ret);

#endif /* EPFAGENT_RESULT_H */
