// SPDX-License-Identifier: GPL-2.0
/* Files that an audit writes. */
#include "cmd_audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int out_fails(const char *name, int err)
{
	return fail("%s: %s", name, strerror(-err));
}

/* An unfinished file, old or new: nobody else's, and nobody else writes it. If
 * no state tells of it, it has nothing.
 */
static int open_partial(struct audit_out *o, bool known)
{
	struct stat st;

	o->file.path = beside_resolve(o->name);
	if (!o->file.path)
		return -errno;
	if (asprintf(&o->file.temp, "%s" AUDIT_PARTIAL, o->file.path) < 0) {
		o->file.temp = NULL;
		return -ENOMEM;
	}
	o->kept = true;
	o->fd = open(o->file.temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
		     O_CLOEXEC, 0666);
	if (o->fd < 0)
		return -errno;
	if (fstat(o->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid())
		return -EEXIST;
	if (flock(o->fd, LOCK_EX | LOCK_NB))
		return -errno;
	if (!known && st.st_size)
		return -ENOTEMPTY;
	if (!stat(o->file.path, &st)) /* it has the mode of what it replaces */
		fchmod(o->fd, st.st_mode & 0777);
	return 0;
}

void audit_out_close(struct audit_out *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	if (o->kept) { /* keeps its name */
		free(o->file.temp);
		o->file.temp = NULL;
	}
	beside_discard(&o->file);
}

static int partial_fails(struct audit_out *o, int err)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s",
		 o->file.temp ? o->file.temp : o->name);
	audit_out_close(o); /* it is not ours to remove */
	if (err == -EWOULDBLOCK)
		return fail("%s: another audit is writing it", name);
	if (err == -EEXIST)
		return fail("%s is not a file that an audit left: remove it, or "
			    "take another output", name);
	if (err == -ENOTEMPTY)
		return fail("%s is there, and no state that tells of it: remove "
			    "it to begin again, or take another output", name);
	return out_fails(name, err);
}

int audit_out_open(struct audit_out *o, int what, const char *name, bool resume,
		   bool known)
{
	struct stat st;
	int err;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->name = name;
	if (!name)
		return 0;
	if (what == OUT_RECORDS && !strcmp(name, "-")) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		return o->fd < 0 ? out_fails("standard output", -errno) : 0;
	}
	if (!stat(name, &st) && !S_ISREG(st.st_mode)) {
		if (S_ISDIR(st.st_mode))
			return out_fails(name, -EISDIR);
		if (what != OUT_RECORDS)
			return fail("%s is not a regular file: only records can "
				    "go there", name);
		o->fd = open(name, O_WRONLY | O_CLOEXEC);
		return o->fd < 0 ? out_fails(name, -errno) : 0;
	}
	if (resume) {
		err = open_partial(o, known);
		return err ? partial_fails(o, err) : 0;
	}
	o->fd = beside_open(&o->file, name);
	return o->fd < 0 ? out_fails(name, o->fd) : 0;
}

int audit_out_sync(const struct audit_out *o)
{
	return o->file.temp && fsync(o->fd) ? -errno : 0;
}

int audit_out_finish(struct audit_out *o)
{
	int err = audit_out_sync(o);

	if (o->fd >= 0 && close(o->fd) && !err)
		err = -errno;
	o->fd = -1;
	return err ? out_fails(o->name, err) : 0;
}

int audit_out_commit(struct audit_out *o)
{
	int err;

	if (!o->file.temp)
		return 0;
	err = rename(o->file.temp, o->file.path) ? -errno : 0;
	if (err)
		return out_fails(o->name, err);
	free(o->file.temp);
	o->file.temp = NULL;
	return 0;
}

int audit_out_keep(struct audit_out *o, bool known)
{
	char *name;
	int err = 0;

	if (!o->file.temp || o->kept)
		return 0;
	if (asprintf(&name, "%s" AUDIT_PARTIAL, o->file.path) < 0)
		return -ENOMEM;
	if (!known && !access(name, F_OK))
		err = -EEXIST;
	else if (rename(o->file.temp, name))
		err = -errno;
	if (err) {
		free(name);
		return err;
	}
	free(o->file.temp);
	o->file.temp = name;
	o->kept = true;
	return 0;
}
