// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* the kernel's limit */
#define TRIES_MAX 100
#define RANDOM_CHARS 6

/* Paths */

static char *atomic_file_join(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s%s", dir, strcmp(dir, "/") ? "/" : "", name) < 0)
		return NULL;
	return path;
}

/* Return: @name relative to the directory of @path. */
static char *beside(const char *path, const char *name)
{
	char *copy = *name == '/' ? NULL : strdup(path);
	char *to = *name == '/' ? strdup(name) : NULL;

	if (copy)
		to = atomic_file_join(dirname(copy), name);
	free(copy);
	return to;
}

/* Resolve a path at which nothing exists; its directory must exist. */
static char *resolve_new(const char *path)
{
	char *copy[2] = { strdup(path), strdup(path) };
	char *dir = copy[0] ? realpath(dirname(copy[0]), NULL) : NULL;
	char *full = dir && copy[1] ? atomic_file_join(dir, basename(copy[1])) : NULL;
	int err = errno;

	free(dir);
	free(copy[0]);
	free(copy[1]);
	errno = err;
	return full;
}

static char *resolve(const char *path, int links)
{
	char *full = realpath(path, NULL), *next;
	char to[PATH_MAX];
	ssize_t n;

	if (full || errno != ENOENT)
		return full;
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0)
		return resolve_new(path);
	if (!links) {
		errno = ELOOP;
		return NULL;
	}
	to[n] = 0;
	next = beside(path, to);
	full = next ? resolve(next, links - 1) : NULL;
	free(next);
	return full;
}

char *epf_file_resolve(const char *path)
{
	return resolve(path, LINKS_MAX);
}

bool epf_file_is_stream(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool epf_file_is(const char *path, const struct stat *st)
{
	struct stat other;

	return S_ISREG(st->st_mode) && !stat(path, &other) && same_inode(&other, st);
}

bool epf_file_same(const char *a, const char *b)
{
	struct stat st;

	return !stat(a, &st) && epf_file_is(b, &st);
}

const char *epf_file_why(int err)
{
	if (err == -EINVAL)
		return "not a regular file";
	if (err == -EEXIST)
		return "another program changed the file at this path";
	return strerror(-err);
}

/* Steps */

int epf_file_create(int dir, const char *temp)
{
	int fd = openat(dir, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int write_some(int fd, const void *data, size_t len, const off_t *at)
{
	const char *p = data;
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = at ? pwrite(fd, p + done, len - done, *at + (off_t)done) :
			 write(fd, p + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int epf_file_write(int fd, const void *data, size_t len)
{
	return write_some(fd, data, len, NULL);
}

int epf_file_write_at(int fd, const void *data, size_t len, off_t at)
{
	return write_some(fd, data, len, &at);
}

int epf_file_reserve(int fd, off_t bytes)
{
	if (!fallocate(fd, 0, 0, bytes))
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
}

int epf_file_sync(int fd)
{
	return fsync(fd) && errno != EINVAL ? -errno : 0;
}

int epf_file_rename(int dir, const char *temp, const char *name)
{
	return renameat(dir, temp, dir, name) ? -errno : 0;
}

/* Return: does @err mean that file system or kernel lacks the flag? */
static bool is_unknown(int err)
{
	return err == -EINVAL || err == -ENOSYS || err == -EOPNOTSUPP;
}

/* Like epf_file_rename(), but fail with -EEXIST if @name exists. */
static int rename_new(int dir, const char *temp, const char *name)
{
	int ret = renameat2(dir, temp, dir, name, RENAME_NOREPLACE) ? -errno : 0;

	if (!is_unknown(ret))
		return ret;
	if (!faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return epf_file_rename(dir, temp, name);
}

/* Beginning */

/* Check what is at @path, if anything. The kernel follows links here, so its
 * protection of links in sticky directories (protected_symlinks) applies as
 * well.
 */
static int atomic_file_look(const char *path, struct stat *st, bool *there)
{
	size_t len = strlen(path);

	*there = !stat(path, st);
	if (!*there && errno != ENOENT)
		return -errno;
	if (!*there)
		return len && path[len - 1] == '/' ? -EISDIR : 0;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	return access(path, W_OK) ? -errno : 0;
}

/* Resolve @path and open its directory. The directory is opened first, so that
 * an error shows before any work is done and not when the directory is synced.
 */
static int atomic_file_enter(struct epf_file *f, const char *path, const char *suffix)
{
	char *slash;
	int err = 0;

	f->path = epf_file_resolve(path);
	if (!f->path)
		return -errno;
	slash = strrchr(f->path, '/');
	f->base = (size_t)(slash - f->path) + 1;
	if (asprintf(&f->temp, "%s%s", f->path, suffix) < 0) {
		f->temp = NULL;
		err = -ENOMEM;
	} else if (slash == f->path) {
		f->dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else {
		*slash = 0;
		f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		*slash = '/';
	}
	if (!err && f->dir < 0)
		err = -errno;
	if (err) { /* there is no descriptor to close */
		free(f->path);
		free(f->temp);
		memset(f, 0, sizeof(*f));
	}
	return err;
}

/* Return: is the file seen by the path the one that has the name in the
 * directory? Another program may have changed a link of the path in between.
 */
static bool is_same(const struct epf_file *f, const struct stat *seen, bool there)
{
	struct stat st;

	if (fstatat(f->dir, f->path + f->base, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT && !there;
	return there && same_inode(&st, seen);
}

/* Check the path and open its directory, until both see the same file. */
static int atomic_file_find(struct epf_file *f, const char *path, const char *suffix,
			    struct stat *old)
{
	int tries, ret;
	bool there;

	for (tries = 0; tries < TRIES_MAX; tries++) {
		memset(old, 0, sizeof(*old));
		ret = atomic_file_look(path, old, &there);
		if (!ret)
			ret = atomic_file_enter(f, path, suffix);
		if (ret)
			return ret;
		if (is_same(f, old, there)) {
			f->there = there;
			f->mode = old->st_mode;
			f->uid = old->st_uid;
			f->gid = old->st_gid;
			return 0;
		}
		epf_file_leave(f);
		memset(f, 0, sizeof(*f));
	}
	return -EEXIST;
}

/* Set owner, group and permissions by the rules in the header. */
static void inherit(int fd, const struct stat *old, mode_t mode)
{
	mode_t mask, bits;

	if (!old) {
		mask = umask(0);
		umask(mask);
		fchmod(fd, 0666 & ~mask & mode);
		return;
	}
	bits = old->st_mode & mode;
	if (mode != EPF_FILE_SECRET && fchown(fd, old->st_uid, old->st_gid) &&
	    fchown(fd, (uid_t)-1, old->st_gid))
		bits &= ~(mode_t)070; /* these bits were for another group */
	fchmod(fd, bits);
}

static int create_random(const struct epf_file *f)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz234567";
	char *at = f->temp + strlen(f->temp) - RANDOM_CHARS;
	unsigned char random[RANDOM_CHARS];
	int tries, i, fd = -EEXIST;

	for (tries = 0; tries < TRIES_MAX && fd == -EEXIST; tries++) {
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return -EIO;
		for (i = 0; i < RANDOM_CHARS; i++)
			at[i] = set[random[i] % 32];
		fd = epf_file_create(f->dir, f->temp + f->base);
	}
	return fd;
}

/* Forget the temporary name: there is nothing to remove any more. */
static void atomic_file_forget(struct epf_file *f)
{
	free(f->temp);
	f->temp = NULL;
}

int epf_file_open(struct epf_file *f, const char *path, mode_t mode)
{
	struct stat old;
	int ret;

	memset(f, 0, sizeof(*f));
	ret = atomic_file_find(f, path, ".XXXXXX", &old);
	if (ret)
		return ret;
	ret = create_random(f);
	if (ret >= 0) {
		inherit(ret, f->there ? &old : NULL, mode);
		return ret;
	}
	epf_file_leave(f);
	memset(f, 0, sizeof(*f));
	return ret;
}

/* Check that the file belongs to this user alone, and lock it against others. */
static int own(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid())
		return -EEXIST;
	return flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
}

int epf_file_resume(struct epf_file *f, const char *path, const char *suffix)
{
	struct stat old;
	int ret, fd;

	memset(f, 0, sizeof(*f));
	ret = atomic_file_find(f, path, suffix, &old);
	if (ret)
		return ret;
	fd = openat(f->dir, f->temp + f->base,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	ret = own(fd);
	if (ret) {
		close(fd);
		return ret;
	}
	if (f->there)
		fchmod(fd, old.st_mode & EPF_FILE_SHARED);
	return fd;
}

/* The end */

void epf_file_leave(struct epf_file *f)
{
	atomic_file_forget(f);
	if (f->path)
		close(f->dir);
	free(f->path);
	f->path = NULL;
}

void epf_file_discard(struct epf_file *f)
{
	if (f->temp)
		unlinkat(f->dir, f->temp + f->base, 0);
	epf_file_leave(f);
}

/*
 * Giving the file its name. Another program may have changed the target since
 * it was checked. So the new file is exchanged with the target, the old target
 * is checked again, and if it must not be replaced, it goes back.
 *
 * Known gaps:
 * - Until such a target goes back, for two system calls, other programs see the
 *   new file under its name.
 * - On a file system without exchange (NFS) the target may change between the
 *   last check and the rename.
 * - If the process is killed between exchange and removal, the old file stays
 *   under the temporary name.
 * - What other programs write into the old file, which they have open, is lost
 *   with it.
 * - A user who may write to the directory can rename any name in it after each
 *   of these steps, and can move the directory: the file goes to where the
 *   directory is then.
 */

static bool is_like(const struct stat *st, mode_t mode, uid_t uid, gid_t gid)
{
	return st->st_mode == mode && st->st_uid == uid && st->st_gid == gid;
}

/* Return: may @name be replaced? It must be a regular, writable file whose
 * owner and permissions show that it is the old target, or a file that another
 * program has written by these rules. The inode number proves nothing, because
 * it is reused.
 */
static bool replaceable(const struct epf_file *f, const char *name, const struct stat *ours)
{
	struct stat st;

	return !fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       !faccessat(f->dir, name, W_OK, 0) &&
	       ((f->there && is_like(&st, f->mode, f->uid, f->gid)) ||
		is_like(&st, ours->st_mode, ours->st_uid, ours->st_gid));
}

static int move(const struct epf_file *f, unsigned int flags)
{
	return renameat2(f->dir, f->temp + f->base, f->dir, f->path + f->base, flags) ? -errno : 0;
}

static int remove_temp(const struct epf_file *f)
{
	if (!unlinkat(f->dir, f->temp + f->base, 0) || errno == ENOENT)
		return 0;
	return -errno;
}

/* Return: 0; -ENOENT: there is no target to exchange with; -EEXIST: the target
 * must not be replaced and stays.
 */
static int atomic_file_exchange(struct epf_file *f, const struct stat *ours)
{
	struct stat st;
	int ret = move(f, RENAME_EXCHANGE);

	if (ret)
		return ret;
	if (replaceable(f, f->temp + f->base, ours)) {
		f->renamed = true;
		return remove_temp(f);
	}
	ret = move(f, RENAME_EXCHANGE);
	if (ret || fstatat(f->dir, f->temp + f->base, &st, AT_SYMLINK_NOFOLLOW) ||
	    !same_inode(&st, ours))
		atomic_file_forget(f); /* the temporary name is not our file */
	return -EEXIST;
}

static int rename_anyway(const struct epf_file *f, const struct stat *ours)
{
	const char *name = f->path + f->base;
	struct stat st;

	if (!fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) && !replaceable(f, name, ours))
		return -EEXIST;
	return epf_file_rename(f->dir, f->temp + f->base, name);
}

/* Another program may create or remove the target between two tries. */
static int give_name(struct epf_file *f)
{
	bool there = f->there;
	struct stat ours;
	int tries, ret;

	if (fstatat(f->dir, f->temp + f->base, &ours, AT_SYMLINK_NOFOLLOW))
		return -errno;
	for (tries = 0; tries < TRIES_MAX; tries++) {
		ret = there ? atomic_file_exchange(f, &ours) : move(f, RENAME_NOREPLACE);
		if (is_unknown(ret))
			return rename_anyway(f, &ours);
		if (ret != (there ? -ENOENT : -EEXIST))
			return ret;
		there = !there;
	}
	return -EEXIST;
}

int epf_file_commit(struct epf_file *f)
{
	int ret = give_name(f);

	if (ret)
		return ret;
	f->renamed = true;
	atomic_file_forget(f);
	ret = epf_file_sync(f->dir);
	epf_file_leave(f);
	return ret;
}

int epf_file_keep(struct epf_file *f, const char *suffix, bool replace)
{
	char *name;
	int err;

	if (asprintf(&name, "%s%s", f->path, suffix) < 0)
		return -ENOMEM;
	err = replace ? epf_file_rename(f->dir, f->temp + f->base, name + f->base) :
			rename_new(f->dir, f->temp + f->base, name + f->base);
	if (err) {
		free(name);
		return err;
	}
	free(f->temp);
	f->temp = name;
	return 0;
}
