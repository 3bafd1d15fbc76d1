/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that appear whole or not at all. A file is written under a temporary
 * name in its final directory, synced and renamed; then the directory is synced.
 * All programs write their files with this, by the same rules:
 *
 *  - A symbolic link is followed, a dangling one too: its target is replaced or
 *    created, and the link stays.
 *  - Only a regular file is replaced, and only if it may be written. A
 *    directory is -EISDIR; a FIFO, socket or device is -EINVAL.
 *  - A new file gets the permissions that the umask leaves. A replaced file
 *    keeps its permissions, and its owner and group if the caller may set them.
 *    A secret file belongs to the caller, and only the owner may access it.
 *  - The rules are checked again when the new file gets its name. A file is
 *    replaced only if its owner and permissions are still those seen when the
 *    new file was begun, or equal those of the new file. Anything else stays:
 *    -EEXIST.
 *
 * Errors are negative errnos; nothing is printed.
 */
#ifndef LIBEPF_ATOMIC_FILE_H
#define LIBEPF_ATOMIC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stat;

/* Most permissions that a file may get. */
#define EPF_FILE_SHARED 0777
#define EPF_FILE_SECRET 0600

/**
 * struct epf_file - a file being written; zeros: none
 * @path: the final name, free of links; NULL: not open
 * @temp: the temporary name; NULL: no file has it
 * @base: offset of the last component in both names
 * @dir: descriptor of their directory
 * @there: a file had the final name when this one was begun
 * @mode: type and permissions of that file
 * @uid: owner of that file
 * @gid: group of that file
 * @renamed: the file has its final name; only the sync of the directory can still
 *	fail
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
 * Return: a descriptor, which the caller syncs and closes; -EISDIR; -EINVAL: not
 * a regular file; any other negative errno.
 */
int epf_file_open(struct epf_file *f, const char *path, mode_t mode);

/**
 * epf_file_resume() - begin a file, or continue one that was kept
 * @f: result; after a failure @f->temp serves the error message, and the caller
 *	discards @f
 * @path: name wanted
 * @suffix: a kept file is named @path followed by this
 *
 * Return: as epf_file_open(); -EEXIST: the kept name is taken by something other
 * than a private file of the caller; -EWOULDBLOCK: another process writes it.
 */
int epf_file_resume(struct epf_file *f, const char *path, const char *suffix);

/* Write all @len bytes at the descriptor's position. Return: 0, or a negative
 * errno, after which some bytes may have been written.
 */
int epf_file_write(int fd, const void *data, size_t len);

/* The same from offset @at on; the position stays. */
int epf_file_write_at(int fd, const void *data, size_t len, off_t at);

/* Reserve room for a file of @bytes, so that a full disk shows before long work.
 * Return: 0, also if the file system does not support this; or a negative errno.
 */
int epf_file_reserve(int fd, off_t bytes);

/* Sync a file or a directory. Return: 0, also if @fd cannot be synced and need
 * not be (a pipe, directories of some file systems); or a negative errno.
 */
int epf_file_sync(int fd);

/* Give the file its final name; the caller has synced its contents. Return: 0, or
 * a negative errno: the file is still open, or has its name if @f->renamed;
 * -EEXIST: see the rules.
 */
int epf_file_commit(struct epf_file *f);

/* Rename the file to @path followed by @suffix, and leave it there. @replace:
 * replace a file of that name. Return: 0, or a negative errno: the file is still
 * open; -EEXIST.
 */
int epf_file_keep(struct epf_file *f, const char *suffix, bool replace);

/* Remove the temporary file, if there is one. */
void epf_file_discard(struct epf_file *f);

/* Free @f, and leave the file under its temporary name. */
void epf_file_leave(struct epf_file *f);

/* Return: @path as epf_file_open() resolves it, free of links; NULL: see errno. */
char *epf_file_resolve(const char *path);

/* Is it a stream, which can be written but not replaced: a FIFO, a terminal or
 * another character device?
 */
bool epf_file_is_stream(const char *path);

/* Does @path name the regular file that @st describes? */
bool epf_file_is(const char *path, const struct stat *st);

/* Do both paths name the same regular file? */
bool epf_file_same(const char *a, const char *b);

/* The text of an error that these functions return. */
const char *epf_file_why(int err);

/* The single steps, for callers with an open directory and names of their own: */

/* Create a new file, mode 0600. Return: a descriptor, or a negative errno: -EEXIST. */
int epf_file_create(int dir, const char *temp);
/* Return: 0, or a negative errno. @dir is not synced. */
int epf_file_rename(int dir, const char *temp, const char *name);

#endif /* LIBEPF_ATOMIC_FILE_H */
