// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Results beside a watched file: all of them or none, even after a crash. */
#include "epfagent/result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "records/rec_error.h"
#include "common/error.h"
#include "common/output.h"
#include "libepf/atomic_file.h"

#define VERDICT ".audit.json"
#define TEMP ".epfagent"
#define VERDICT_BYTES_MAX 65536

static const char *const suffix[RESULT_PARTS] = {
	".bitmap",
	".ages",
	".records",
};

/* @to: NAME_MAX + 1 bytes; result_wanted() ensures that names are short enough. */
static const char *result_join(char *to, const char *name, const char *end)
{
	snprintf(to, NAME_MAX + 1, "%.*s%s", NAME_MAX - 16, name, end);
	return to;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len >= n && !strcmp(name + len - n, end);
}

bool result_wanted(const char *name)
{
	int i;

	if (name[0] == '.' || ends_with(name, VERDICT))
		return false;
	for (i = 0; i < RESULT_PARTS; i++)
		if (ends_with(name, suffix[i]))
			return false;
	return strlen(name) <= NAME_MAX - 16;
}

static __u64 result_mtime_ns(const struct stat *st)
{
	return (__u64)st->st_mtim.tv_sec * 1000000000ULL + (__u64)st->st_mtim.tv_nsec;
}

/* Return: the existing verdict; NULL: none, or invalid. */
static json_t *read_verdict(int dir, const char *name)
{
	char path[NAME_MAX + 1], *text = malloc(VERDICT_BYTES_MAX);
	int fd = openat(dir, result_join(path, name, VERDICT),
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 || !text ? -1 : read(fd, text, VERDICT_BYTES_MAX);
	json_t *json = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;

	if (fd >= 0)
		close(fd);
	free(text);
	return json;
}

bool result_there(int dir, const char *name, const struct stat *st)
{
	json_t *json = read_verdict(dir, name);
	json_int_t size, mtime, inode;
	bool same = json &&
		    !json_unpack(json, "{sI sI sI}", "size", &size, "mtime_ns", &mtime, "inode",
				 &inode) &&
		    size == st->st_size && (__u64)mtime == result_mtime_ns(st) &&
		    (__u64)inode == st->st_ino;

	json_decref(json);
	return same;
}

/* Those that exist */

/* Nobody else can have made it: a link to a file of the agent's user has more than one. */
static bool is_own(int dir, const char *name, struct stat *st)
{
	return !fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st->st_mode) &&
	       st->st_uid == geteuid() && st->st_nlink == 1;
}

static bool is_gone(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

bool result_measure(int dir, const char *entry, char name[NAME_MAX + 1], __u64 *time_ns,
		    __u64 *bytes, bool *spent)
{
	size_t len = strlen(entry);
	char part[NAME_MAX + 1];
	struct stat st;
	int i;

	if (len <= strlen(VERDICT) || !ends_with(entry, VERDICT) || !is_own(dir, entry, &st))
		return false;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)(len - strlen(VERDICT)), entry);
	*time_ns = result_mtime_ns(&st);
	*spent = !is_gone(dir, name);
	*bytes = *spent ? 0 : (__u64)st.st_size;
	for (i = 0; i < RESULT_PARTS; i++) {
		if (!is_own(dir, result_join(part, name, suffix[i]), &st))
			continue;
		*bytes += (__u64)st.st_size;
		*spent = false;
	}
	return result_wanted(name);
}

bool result_remove(int dir, const char *name)
{
	json_t *json = read_verdict(dir, name), *own = json_path(name);
	bool ours = json && own && json_equal(json_object_get(json, "file"), own), done = false;
	char part[NAME_MAX + 1];
	struct stat st;
	int i;

	json_decref(json);
	json_decref(own);
	for (i = 0; ours && i < RESULT_PARTS; i++)
		done |= is_own(dir, result_join(part, name, suffix[i]), &st) &&
			!unlinkat(dir, part, 0);
	if (ours && is_gone(dir, name))
		done |= !unlinkat(dir, result_join(part, name, VERDICT), 0);
	return done;
}

/* Making */

/* Set group and mode at creation, so that this cannot fail once the file is complete.
 * Others must not use the file before it has its final name.
 */
static int create(const struct result *r, const char *temp)
{
	int fd, err = 0;

	unlinkat(r->dir, temp, 0); /* left by an agent that was killed */
	fd = epf_file_create(r->dir, temp);
	if (fd < 0)
		return fd;
	if ((r->gid != (gid_t)-1 && fchown(fd, (uid_t)-1, r->gid)) || fchmod(fd, r->mode))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	unlinkat(r->dir, temp, 0);
	return err;
}

static void drop_parts(int dir)
{
	char temp[NAME_MAX + 1];
	int i;

	for (i = 0; i < RESULT_PARTS; i++)
		unlinkat(dir, result_join(temp, TEMP, suffix[i]), 0);
}

int result_open(const struct result *r, int fd[RESULT_PARTS])
{
	char temp[NAME_MAX + 1];
	int ret = 0, i;

	for (i = 0; i < RESULT_PARTS; i++)
		fd[i] = -1;
	for (i = 0; i < RESULT_PARTS && !ret; i++) {
		if (!r->part[i])
			continue;
		fd[i] = create(r, result_join(temp, TEMP, suffix[i]));
		ret = fd[i] < 0 ? fd[i] : 0;
	}
	if (!ret)
		return 0;
	for (i = 0; i < RESULT_PARTS; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
	drop_parts(r->dir);
	return ret;
}

static json_t *verdict(const struct result *r, struct task *t, int ret)
{
	const struct epf_snap_header *h = &t->about.header;
	json_t *state = agent_state_json(task_state(t));
	json_t *o = json_pack("{so sI sI sI so}", "file", json_path(r->name), "size",
			      (json_int_t)r->before.st_size, "mtime_ns",
			      (json_int_t)result_mtime_ns(&r->before), "inode",
			      (json_int_t)r->before.st_ino, "filter", json_path(r->filter));

	if (ret) {
		json_decref(state);
		json_object_set_new(o, "errno", json_integer(-ret));
		json_object_set_new(o, "error", json_path(t->error.text));
		return o;
	}
	json_object_set_new(o, "none_present", json_boolean(job_none_present(task_state(t))));
	json_object_set_new(o, "done", state);
	json_object_set_new(o, "asked",
			    json_pack("{ss sI sI sI sb}", "name", h->params.name, "epoch",
				      (json_int_t)h->epoch_end, "inserts", (json_int_t)h->inserts,
				      "realtime_ns", (json_int_t)h->realtime_ns, "saturated",
				      t->about.saturated));
	return o;
}

static int write_json(int fd, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	size_t len = text ? strlen(text) : 0;
	int ret = -ENOMEM;

	if (text) {
		text[len] = '\n'; /* in place of the NUL */
		ret = epf_file_write(fd, text, len + 1);
	}
	free(text);
	return ret ? ret : epf_file_sync(fd);
}

static int put_verdict(const struct result *r, struct task *t, int ret)
{
	char name[NAME_MAX + 1];
	json_t *json = verdict(r, t, ret);
	int fd = create(r, TEMP VERDICT);
	int err = fd < 0 ? fd : write_json(fd, json);

	json_decref(json);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = epf_file_rename(r->dir, TEMP VERDICT, result_join(name, r->name, VERDICT));
	if (err)
		unlinkat(r->dir, TEMP VERDICT, 0);
	return err ? err : epf_file_sync(r->dir);
}

/* Remove the old verdict first, so that no verdict ever describes parts of another
 * audit.
 */
static int put_parts(const struct result *r, bool good)
{
	char temp[NAME_MAX + 1], name[NAME_MAX + 1];
	int i, err;

	if (!unlinkat(r->dir, result_join(name, r->name, VERDICT), 0))
		err = epf_file_sync(r->dir);
	else
		err = errno == ENOENT ? 0 : -errno;
	for (i = 0; i < RESULT_PARTS && !err; i++) {
		result_join(name, r->name, suffix[i]);
		if (!good || !r->part[i])
			unlinkat(r->dir, name, 0);
		else
			err = epf_file_rename(r->dir, result_join(temp, TEMP, suffix[i]), name);
	}
	return err ? err : epf_file_sync(r->dir);
}

static bool unchanged(const struct result *r)
{
	struct stat now;

	return !fstatat(r->dir, r->name, &now, AT_SYMLINK_NOFOLLOW) && S_ISREG(now.st_mode) &&
	       now.st_ino == r->before.st_ino && now.st_dev == r->before.st_dev &&
	       now.st_size == r->before.st_size &&
	       result_mtime_ns(&now) == result_mtime_ns(&r->before);
}

static int sync_parts(const int fd[RESULT_PARTS])
{
	int i, err = 0;

	for (i = 0; i < RESULT_PARTS && !err; i++)
		if (fd[i] >= 0)
			err = epf_file_sync(fd[i]);
	return err;
}

/* Truncate the parts: they are still open, so removing their names does not free their
 * space, which the verdict may need on a full disk.
 */
static void empty_parts(const int fd[RESULT_PARTS])
{
	int i;

	for (i = 0; i < RESULT_PARTS; i++)
		if (fd[i] >= 0 && ftruncate(fd[i], 0))
			return; /* the verdict may then not fit */
}

int result_finish(struct result *r, const int fd[RESULT_PARTS], struct task *t, int ret)
{
	int err = 0;

	if (ret == -ECANCELED) {
		drop_parts(r->dir);
		return ret;
	}
	if (ret == -EBUSY || ret == -ENOMEM) {
		drop_parts(r->dir);
		r->later = true;
		return ret;
	}
	if (!unchanged(r)) {
		drop_parts(r->dir);
		r->again = true;
		return rec_error_set(&t->error, -EAGAIN,
				     "the file changed during "
				     "the audit");
	}
	if (ret)
		empty_parts(fd);
	else
		err = sync_parts(fd);
	if (!err)
		err = put_parts(r, !ret);
	drop_parts(r->dir); /* after a failure some are left */
	if (!err)
		err = put_verdict(r, t, ret);
	r->later = err;
	if (err)
		return rec_error_set(&t->error, err, "cannot write the result: %s", strerror(-err));
	return ret;
}
