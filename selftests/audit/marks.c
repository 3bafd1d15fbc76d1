// SPDX-License-Identifier: GPL-2.0
/*
 * Marks of the units that an audit by ranks has answered: what is written is read; a mark that
 * is damaged, torn, at another place or of another audit is none; the file's bytes are the same
 * on every CPU.
 */
#include "../core/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "cmd_audit.h"

#define UNIT 3u
#define FIRST 3000u
#define MARK_BYTES (sizeof(struct audit_mark) + 8)
#define FILE_XXH3 0x0118bc3cf250cb59ULL

static struct audit_state state;
static struct audit_mark mark;
static char folder[] = "/tmp/epf-marks.XXXXXX", path[64];
static int fd;

/* Stands in for that of jobs/job.c, which needs all readers of records. */
bool job_checkpoint_sound(const struct job_checkpoint *m)
{
	return m->present <= m->keys;
}

static void make(void)
{
	if (!mkdtemp(folder))
		exit(1);
	snprintf(path, sizeof(path), "%s/state", folder);
	state = (struct audit_state){ .snapshot_header = 0x1122334455667788, .asked = 5 };
	mark.mark.keys = 1000;
	mark.mark.present = mark.mark.ages_of[2] = 0x102;
	mark.format = 1;
	mark.bitmap = 0x99aabbccddeeff00;
	fd = audit_marks_make(path, false);
}

static bool reads(__u64 unit, __u64 first, const struct audit_state *s)
{
	struct audit_mark got;

	return audit_marks_get(fd, unit, first, s, &got) && !memcmp(&got, &mark, sizeof(mark));
}

static bool other_place(void)
{
	struct audit_state other = state;

	other.asked++;
	return !reads(UNIT, FIRST + 1, &state) && !reads(UNIT - 1, FIRST, &state) &&
	       !reads(UNIT + 1, FIRST, &state) && !reads(UNIT, FIRST, &other);
}

/* Each bit of it, one after another. */
static bool damaged(void)
{
	off_t at = UNIT * MARK_BYTES, end = at + (off_t)MARK_BYTES;
	unsigned char was, is;
	bool fine = true;
	int bit;

	for (; fine && at < end; at++)
		for (bit = 0; bit < 8; bit++) {
			fine &= pread(fd, &was, 1, at) == 1;
			is = was ^ (unsigned char)(1 << bit);
			fine &= pwrite(fd, &is, 1, at) == 1 && !reads(UNIT, FIRST, &state);
			fine &= pwrite(fd, &was, 1, at) == 1;
		}
	return fine && reads(UNIT, FIRST, &state);
}

/* Little-endian, and the sum, too. */
static bool layout(void)
{
	unsigned char bytes[MARK_BYTES];
	__u64 sum;

	if (pread(fd, bytes, MARK_BYTES, UNIT * MARK_BYTES) != (ssize_t)MARK_BYTES)
		return false;
	sum = XXH3_64bits(bytes, MARK_BYTES);
	if (sum != FILE_XXH3)
		printf("# XXH3-64 0x%016llx\n", (unsigned long long)sum);
	return !memcmp(bytes, "\350\3\0\0\0\0\0\0\2\1\0\0\0\0\0\0", 16) && sum == FILE_XXH3;
}

static bool torn(void)
{
	return !ftruncate(fd, (UNIT + 1) * MARK_BYTES - 1) && !reads(UNIT, FIRST, &state);
}

static bool gone(void)
{
	close(fd);
	audit_marks_remove(path);
	return audit_marks_open(path) == -ENOENT && !rmdir(folder);
}

int main(void)
{
	make();
	tap_plan(6);
	tap_ok(fd >= 0 && !audit_marks_put(fd, UNIT, FIRST, &state, &mark) &&
		       reads(UNIT, FIRST, &state),
	       "what is written is read");
	tap_ok(other_place(), "a mark of another unit, other keys or another audit is none");
	tap_ok(damaged(), "each bit that changes is noticed");
	tap_ok(layout(), "the file has the same bytes on every CPU");
	tap_ok(torn(), "a torn mark is none");
	tap_ok(gone(), "the file is removed");
	return tap_end();
}
