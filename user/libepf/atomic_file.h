/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that appear whole or not at all: written under a temporary name in the
 * directory where they belong, synced, renamed, and the directory synced. All
 * programs write their files with this, by the same rules:
 *
 *  - A symbolic link is followed, a dangling one too: the file that it leads to
 *    is replaced or made, and the link stays.
 *  - Only a regular file is replaced, and only if it may be written. A
 *    directory is -EISDIR; a FIFO, socket or device is -EINVAL.
 *  - A new file gets the permissions that the umask leaves. A replaced file
 *    keeps its permissions, and its owner and group where the caller may give
 *    them. A secret is for its owner alone, and its owner is the caller.
 *  - The same holds when the new file gets its name. A file is replaced then if
 *    its owner and permissions are those that were seen when the new one was
 *    begun, or the new one's. Anything else stays: -EEXIST.
 *
 * Errors are negative errnos; nothing is printed.
 */
#ifndef LIBEPF_ATOMIC_FILE_H
#define LIBEPF_ATOMIC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Most permissions that a file may get. */
#define EPF_FILE_SHARED 0777
#define EPF_FILE_SECRET 0600

/**
 * struct epf_file - a file being written; zeros: none
 * @path: the name it will have, free of links; NULL: not open
 * @temp: the name it has until then; NULL: it is not there, or is named
 * @base: where the last component of either begins
 * @dir: descriptor of their directory
 * @there: a file had that name when this one was begun,
 * @mode: with this type and these permissions,
 * @uid: this owner
 * @gid: and this group
 * @renamed: it has its name: what fails after that is only the directory's sync
 */
struct epf_file {
	char *path;
	char *temp;
	size_t base;
	int dir;
	bool there;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	bool renamed;
};

/**
 * epf_file_open() - begin a file
 * @f: result; zeros on failure
 * @path: name wanted
 * @mode: EPF_FILE_*
 *
 * Return: descriptor, the caller's to sync and to close; -EISDIR; -EINVAL: not a
 * regular file; any other negative errno.
 */
int epf_file_open(struct epf_file *f, const char *path, mode_t mode);

/**
 * epf_file_resume() - begin a file, or go on with one that was kept
 * @f: result; on failure to be discarded, with @f->temp for the error's text
 * @path: name wanted
 * @suffix: it is kept as @path and this
 *
 * Return: as epf_file_open(); -EEXIST: that name is no file of the caller's
 * alone; -EWOULDBLOCK: another process writes it.
 */
int epf_file_resume(struct epf_file *f, const char *path, const char *suffix);

/* All of @len bytes, at the descriptor's position. Return: 0, or a negative errno:
 * some may have been written.
 */
int epf_file_write(int fd, const void *data, size_t len);

/* Likewise from offset @at on, which leaves the position alone. */
int epf_file_write_at(int fd, const void *data, size_t len, off_t at);

/* Ask for room for @bytes in all: a full disk is then found before long work.
 * Return: 0, also where the file system does not know; or a negative errno.
 */
int epf_file_reserve(int fd, off_t bytes);

/* Contents or directory. Return: 0, also where @fd cannot be synced and need not
 * be (a pipe, some file systems' directories); or a negative errno.
 */
int epf_file_sync(int fd);

/* Give it its name; its contents are synced. Return: 0, or a negative errno: it
 * is still open, or has its name if @f->renamed; -EEXIST: see the rules.
 */
int epf_file_commit(struct epf_file *f);

/* Call it @path and @suffix instead, and leave it there. @replace: what has that
 * name. Return: 0, or a negative errno: it is still open; -EEXIST.
 */
int epf_file_keep(struct epf_file *f, const char *suffix, bool replace);

/* Remove what was written; nothing where there is none. */
void epf_file_discard(struct epf_file *f);

/* Be done with it, and leave it under its temporary name. */
void epf_file_leave(struct epf_file *f);

/* @path as an epf_file_open() finds it, free of links. NULL: errno tells. */
char *epf_file_resolve(const char *path);

/* Can it be written from start to end, but not replaced: a FIFO, a terminal,
 * another character device?
 */
bool epf_file_is_stream(const char *path);

/* Text of an error of these functions. */
const char *epf_file_why(int err);

/* The steps, for those who have a directory open, and names of their own: */

/* Make a file that was not there, mode 0600. Return: descriptor, -EEXIST, ... */
int epf_file_create(int dir, const char *temp);
/* Return: 0, or a negative errno. @dir is not synced. */
int epf_file_rename(int dir, const char *temp, const char *name);

#endif /* LIBEPF_ATOMIC_FILE_H */
