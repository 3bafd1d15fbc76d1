// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which units of an audit by ranks are done: one mark after another, by unit. Each is written
 * by one rank, at once; a mark that is torn, damaged, or of another audit is none, so nothing
 * needs to be synced or locked.
 */
#include "cmd_audit.h"

#include "libepf/order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>

/* In the file, little-endian. @sum: of the mark, its place and the audit. */
struct marked {
	struct audit_mark mark;
	__u64 sum;
};

/* The sum of words, as they would be in a file. */
static __u64 words_sum(const void *words, size_t bytes, __u64 seed)
{
	__u64 ordered[sizeof(struct audit_mark) / sizeof(__u64)];

	epf_order_words(ordered, words, bytes);
	return XXH3_64bits_withSeed(ordered, bytes, seed);
}

_Static_assert(sizeof(struct audit_state) <= sizeof(struct audit_mark), "words_sum() has room");

static __u64 mark_sum(const struct audit_mark *m, __u64 unit, __u64 size,
		      const struct audit_state *s)
{
	__u64 place[2] = { unit, size };
	__u64 seed = words_sum(s, sizeof(*s), 0);

	return words_sum(m, sizeof(*m), words_sum(place, sizeof(place), seed));
}

static int marks_open(const char *state_path, int flags)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s" AUDIT_MARKS, state_path) < 0)
		return -ENOMEM;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	fd = fd < 0 ? -errno : fd;
	free(path);
	return fd;
}

int audit_marks_make(const char *state_path, bool keep)
{
	return marks_open(state_path, O_CREAT | (keep ? 0 : O_TRUNC));
}

int audit_marks_open(const char *state_path)
{
	return marks_open(state_path, 0);
}

void audit_marks_remove(const char *state_path)
{
	char *path;

	if (asprintf(&path, "%s" AUDIT_MARKS, state_path) < 0)
		return;
	unlink(path);
	free(path);
}

int audit_marks_put(int fd, __u64 unit, __u64 size, const struct audit_state *s,
		    const struct audit_mark *m)
{
	struct marked f = { .mark = *m, .sum = mark_sum(m, unit, size, s) };

	epf_order_words(&f, &f, sizeof(f));
	return epf_file_write_at(fd, &f, sizeof(f), (off_t)(unit * sizeof(f)));
}

bool audit_marks_get(int fd, __u64 unit, __u64 size, const struct audit_state *s,
		     struct audit_mark *m)
{
	struct marked f;

	if (pread(fd, &f, sizeof(f), (off_t)(unit * sizeof(f))) != (ssize_t)sizeof(f))
		return false;
	epf_order_words(&f, &f, sizeof(f));
	*m = f.mark;
	return f.sum == mark_sum(m, unit, size, s) && job_checkpoint_sound(&m->mark);
}

void audit_mark_add(struct audit_mark *to, const struct audit_mark *m)
{
	const __u64 *from = (const __u64 *)m;
	__u64 *sum = (__u64 *)to;
	size_t i;

	for (i = 0; i < sizeof(*m) / sizeof(*from); i++)
		sum[i] += from[i];
}
