// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where an audit was interrupted. Anybody may have written the file. So it is used only if
 * it is undamaged, and belongs to this audit and to the files beside it.
 */
#include "cmd_audit.h"
#include "libepf/order.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define STATE_MAGIC 0x0044554146504545ULL /* "EEPFAUD\0" */
#define STATE_VERSION 3

/* The file; little-endian. @sum: XXH3-64 with this field zero. */
struct state_file {
	__u64 magic;
	__u32 version;
	__u32 bytes;
	struct audit_state state;
	__u64 sum;
};

/* To and from the byte order of the file. */
static void order_file(struct state_file *f)
{
	f->magic = htole64(f->magic);
	f->version = htole32(f->version);
	f->bytes = htole32(f->bytes);
	epf_order_words(&f->state, &f->state, sizeof(f->state));
	f->sum = htole64(f->sum);
}

static __u64 file_sum(const struct state_file *f)
{
	struct state_file copy = *f;

	copy.sum = 0;
	order_file(&copy);
	return XXH3_64bits(&copy, sizeof(copy));
}

/* The options that change what is answered, or what of it is written. */
static __u64 asked_sum(const struct audit_ask *ask, const struct audit_out *out)
{
	const struct rec_spec *r = &ask->spec.records;
	const struct epf_pkt_opts *p = &r->pkt;
	const char *fields = r->fields ? r->fields : "";
	/* clang-format off */
	__u64 numbers[] = {
		r->format, ask->spec.key_len, ask->spec.absent, r->digest,
		r->hex, r->header, r->skip_bad, (__u64)r->separator,
		(__u64)r->joint, p->key, p->link, p->flags, p->max_bytes,
		r->as_filter, r->multiline,
		!!out[OUT_AGES].name, !!out[OUT_RECORDS].name,
	};
	/* clang-format on */

	epf_order_words(numbers, numbers, sizeof(numbers));
	return XXH3_64bits_withSeed(fields, strlen(fields), XXH3_64bits(numbers, sizeof(numbers)));
}

/* Identify a snapshot without anything that depends on the hash key: by its parameters,
 * epochs and counts, and by the nanosecond at which it was taken.
 */
static __u64 header_sum(const struct target *t)
{
	struct epf_snap_header h = t->header;

	target_hide_key(&h);
	epf_order_header(&h);
	return XXH3_64bits(&h, sizeof(h));
}

void audit_state_of(struct audit_state *s, const struct audit_ask *ask, const struct target *t,
		    const struct stat *keys, const struct audit_out *out)
{
	memset(s, 0, sizeof(*s));
	s->snapshot_header = header_sum(t);
	s->snapshot_mtime = t->mtime_ns;
	s->keys_bytes = (__u64)keys->st_size;
	s->keys_mtime = (__u64)keys->st_mtim.tv_sec * NS_PER_SEC + (__u64)keys->st_mtim.tv_nsec;
	s->asked = asked_sum(ask, out);
}

static bool reaches(const struct audit_out *o, __u64 bytes)
{
	struct stat st;

	return o->fd < 0 || (!fstat(o->fd, &st) && (__u64)st.st_size >= bytes);
}

/* Why the audit cannot continue from this state; NULL: it can. */
static const char *unfit(const struct state_file *f, size_t got, const struct audit_state *want,
			 const struct audit_out *out)
{
	const struct audit_state *s = &f->state;

	if (got != sizeof(*f) || f->magic != STATE_MAGIC)
		return "is not the state of an audit";
	if (f->version != STATE_VERSION || f->bytes != sizeof(*f))
		return "is of a version this program does not know";
	if (f->sum != file_sum(f) || !job_checkpoint_sound(&s->mark))
		return "is damaged";
	if (s->snapshot_header != want->snapshot_header ||
	    s->snapshot_mtime != want->snapshot_mtime)
		return "belongs to an audit of another snapshot";
	if (s->keys_bytes != want->keys_bytes || s->keys_mtime != want->keys_mtime)
		return "belongs to other keys, or they have changed since";
	if (s->asked != want->asked)
		return "belongs to an audit with other options";
	if (!reaches(&out[OUT_BITMAP], (s->mark.keys + 7) / 8) ||
	    !reaches(&out[OUT_AGES], s->mark.keys) ||
	    !reaches(&out[OUT_RECORDS], s->mark.record_bytes))
		return "describes more than the unfinished files have";
	return NULL;
}

/* Return: bytes read, fewer at the end of the file; -1: see errno. */
static ssize_t audit_state_read_all(int fd, void *to, size_t len)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && n) {
		n = read(fd, (char *)to + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* The unfinished file whose answers up to the mark are others; NULL: none. */
static const char *audit_state_changed(const struct audit_state *s, struct audit_out *out)
{
	__u64 sum;

	if (job_bitmap_sum(out[OUT_BITMAP].fd, s->mark.keys, &sum) || sum != s->bitmap)
		return out[OUT_BITMAP].file.temp;
	if (audit_out_sum(&out[OUT_AGES], s->mark.keys, &sum) || sum != s->ages)
		return out[OUT_AGES].file.temp;
	if (audit_out_sum(&out[OUT_RECORDS], s->mark.record_bytes, &sum) || sum != s->records)
		return out[OUT_RECORDS].file.temp;
	return NULL;
}

int audit_state_load(struct audit_state *s, const char *path, struct audit_out *out)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct state_file f = { 0 };
	const char *why;
	ssize_t got;
	char past;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return fail_errno(errno, "%s: %m", path);
	got = audit_state_read_all(fd, &f, sizeof(f));
	if (got == (ssize_t)sizeof(f) && read(fd, &past, 1) == 1)
		got = 0; /* it is too long */
	close(fd);
	if (got < 0)
		return fail_errno(errno, "%s: %m", path);
	order_file(&f);
	why = unfit(&f, (size_t)got, s, out);
	if (why)
		return fail("%s %s: remove it to begin again", path, why);
	why = audit_state_changed(&f.state, out);
	if (why)
		return fail("%s is not what %s describes: remove both to begin again", why, path);
	*s = f.state;
	return 0;
}

static int write_state(const struct state_file *f, const char *path)
{
	struct epf_file file;
	int fd = epf_file_open(&file, path, EPF_FILE_SECRET);
	int err;

	if (fd < 0)
		return fd;
	err = epf_file_write(fd, f, sizeof(*f));
	if (!err)
		err = epf_file_sync(fd);
	if (close(fd) && !err)
		err = -errno;
	if (!err)
		err = epf_file_commit(&file);
	epf_file_discard(&file);
	return err;
}

int audit_state_save(const struct audit_state *s, const char *path, const struct audit_out *out)
{
	struct state_file f;
	int i, err = 0;

	for (i = 0; i < AUDIT_OUTS && !err; i++)
		err = audit_out_sync(&out[i]);
	if (err)
		return err;
	memset(&f, 0, sizeof(f));
	f.magic = STATE_MAGIC;
	f.version = STATE_VERSION;
	f.bytes = sizeof(f);
	f.state = *s;
	f.sum = file_sum(&f);
	order_file(&f);
	return write_state(&f, path);
}
