// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The files that an audit writes. */
#include "cmd_audit.h"

#include "jobs/sum.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int audit_out_fails(const char *name, int err)
{
	return fail_write(name, err, false);
}

/* Without a state that describes it, the file must be empty. */
static int open_partial(struct audit_out *o, bool known)
{
	struct stat st;

	o->kept = true;
	o->fd = epf_file_resume(&o->file, o->name, AUDIT_PARTIAL);
	if (o->fd < 0)
		return o->fd;
	if (fstat(o->fd, &st))
		return -errno;
	return !known && st.st_size ? -ENOTEMPTY : 0;
}

void audit_out_close(struct audit_out *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	XXH3_freeState(o->sum);
	o->sum = NULL;
	if (o->kept)
		epf_file_leave(&o->file);
	else
		epf_file_discard(&o->file);
}

static int partial_fails(struct audit_out *o, int err)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s", o->file.temp ? o->file.temp : o->name);
	audit_out_close(o); /* another program's file must not be removed */
	if (err == -EWOULDBLOCK)
		return fail("%s: another audit is writing it", name);
	if (err == -EEXIST)
		return fail("%s was not left by an audit: remove it, or give the "
			    "output another name",
			    name);
	if (err == -ENOTEMPTY)
		return fail("%s exists, but no state describes it: remove it to "
			    "begin again, or give the output another name",
			    name);
	return audit_out_fails(name, err);
}

int audit_out_open(struct audit_out *o, int what, const char *name, bool resume, bool known)
{
	int err;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->name = name;
	if (!name)
		return 0;
	if (what == OUT_RECORDS && !strcmp(name, "-")) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		return o->fd < 0 ? audit_out_fails("standard output", -errno) : 0;
	}
	if (epf_file_is_stream(name)) {
		if (what != OUT_RECORDS)
			return fail("%s is not a regular file: give a regular file, "
				    "only records can go there",
				    name);
		o->fd = open(name, O_WRONLY | O_CLOEXEC);
		return o->fd < 0 ? audit_out_fails(name, -errno) : 0;
	}
	if (resume) {
		err = open_partial(o, known);
		return err ? partial_fails(o, err) : 0;
	}
	o->fd = epf_file_open(&o->file, name, EPF_FILE_SHARED);
	return o->fd < 0 ? audit_out_fails(name, o->fd) : 0;
}

int audit_out_sum(struct audit_out *o, __u64 bytes, __u64 *sum)
{
	int err;

	*sum = 0;
	if (o->fd < 0 || !bytes)
		return 0;
	if (!o->sum) {
		o->sum = XXH3_createState();
		if (!o->sum)
			return -ENOMEM;
		XXH3_64bits_reset(o->sum);
	}
	err = sum_bits(o->fd, o->summed, bytes - o->summed, o->sum);
	if (err) { /* some of them are in it: the next call begins again */
		XXH3_freeState(o->sum);
		o->sum = NULL;
		o->summed = 0;
		return err;
	}
	o->summed = bytes;
	*sum = XXH3_64bits_digest(o->sum);
	return 0;
}

int audit_out_sync(const struct audit_out *o)
{
	return o->file.temp ? epf_file_sync(o->fd) : 0;
}

int audit_out_finish(struct audit_out *o)
{
	int err = audit_out_sync(o);

	if (o->fd >= 0 && close(o->fd) && !err)
		err = -errno;
	o->fd = -1;
	return err ? audit_out_fails(o->name, err) : 0;
}

int audit_out_commit(struct audit_out *o)
{
	int err = o->file.temp ? epf_file_commit(&o->file) : 0;

	return err ? fail_write(o->name, err, o->file.renamed) : 0;
}

int audit_outs_commit(struct audit_out *out)
{
	int i;

	for (i = 0; i < AUDIT_OUTS; i++)
		if (audit_out_finish(&out[i]))
			return EXIT_FAIL;
	for (i = 0; i < AUDIT_OUTS; i++)
		if (audit_out_commit(&out[i]))
			return EXIT_FAIL;
	return 0;
}

int audit_out_keep(struct audit_out *o, bool known)
{
	int err = 0;

	if (!o->file.temp || o->kept)
		return 0;
	err = epf_file_keep(&o->file, AUDIT_PARTIAL, known);
	o->kept = !err;
	return err;
}
