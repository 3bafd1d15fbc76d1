// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Units of lines. A unit is the lines that begin in some bytes of the file. Where its
 * answers belong depends on how many keys the units before it have. So each unit writes where
 * there is room for the answers of as many lines as its bytes could be, in sparse files, and
 * all ranks copy the answers from there when all units are done.
 */
#include "audit_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a unit, without --unit: by the file's size alone, as for columns. */
#define BYTES_MIN (8ULL << 20)
#define BYTES_MAX (1ULL << 30)
#define UNITS_WANTED 256u
#define LINE_GUESS 64u /* bytes of a line, for --unit */
#define COPY_BYTES (1u << 20)

/* Cutting */

static __u64 usual_bytes(__u64 size)
{
	__u64 unit = (size / UNITS_WANTED / BYTES_MIN + 1) * BYTES_MIN;

	return unit < BYTES_MAX ? unit : BYTES_MAX;
}

static bool may_be_cut(struct part *p, const struct audit_ask *ask, const struct target *t)
{
	struct rec_spec spec = ask->spec.records;
	struct rec_source *source;
	struct rec_error e;
	bool cut;

	spec.child = REC_CHILD_NONE;
	if (rec_needs_child(p->fd, spec.format) || lseek(p->fd, 0, SEEK_SET) ||
	    rec_open(&source, p->fd, &spec, &t->view.hash, &e))
		return false; /* if it cannot be read, the unit finds out */
	p->format = rec_source_format(source);
	cut = rec_may_be_cut(source);
	rec_close(source);
	return cut;
}

/* In rank 0. What an interrupted audit has left there is described by its marks. */
static int make_pieces(const struct part *p)
{
	int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (p->fresh ? O_TRUNC : 0), i, fd;

	for (i = 0; i < AUDIT_ANSWERS; i++) {
		if (!p->piece[i])
			continue;
		fd = open(p->piece[i], flags, 0600);
		if (fd < 0)
			return fail_errno(errno, "%s: %m", p->piece[i]);
		close(fd);
	}
	return 0;
}

int audit_cut_lines(struct part *p, const struct audit_ask *ask, const struct target *t)
{
	__u64 size = (__u64)p->st.st_size;
	__u64 unit = ask->unit_keys ? ask->unit_keys * LINE_GUESS : usual_bytes(size);
	bool cut = false;

	if (ask->spec.records.format == REC_COLUMN || size <= unit)
		return 0;
	if (!ranks->rank)
		cut = may_be_cut(p, ask, t);
	ranks_tell(&cut, sizeof(cut));
	if (!cut)
		return 0;
	p->lines = true;
	p->unit = unit;
	p->units = (size + unit - 1) / unit;
	p->count = calloc(2 * p->units, sizeof(*p->count));
	if (ranks_failed(!p->count))
		return p->count ? EXIT_FAIL : fail("out of memory");
	return ranks_failed(!ranks->rank && make_pieces(p)) ? EXIT_FAIL : 0;
}

__u64 audit_records_at(const struct part *p, __u64 unit)
{
	return unit * (p->unit + REC_LINE_MAX);
}

/* Joining */

/**
 * struct join - answers of one kind, from unit to unit
 * @from: the answers of units
 * @to: the output
 * @begin: by unit: how many answers are before its own; behind the last: of all
 * @at: where the answers of the current unit are in @from
 * @unit: the current unit
 * @room: bytes from unit to unit in @from
 * @piece: bytes that were read
 * @bits: bits that are to be written
 * @name: of @from
 * @output: of @to
 */
struct join {
	struct ranks_file *from;
	struct ranks_file *to;
	__u64 *begin;
	__u64 unit;
	__u64 room;
	unsigned char *piece;
	unsigned char *bits;
	const char *name;
	const char *output;
};

static __u64 lesser(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Read @n bytes of the current unit. */
static int read_answers(struct join *j, __u64 offset, size_t n)
{
	long long got = ranks_read(j->from, j->piece, n, j->unit * j->room + offset);

	if (got == (long long)n)
		return 0;
	return got < 0 ? fail("%s: %s", j->name, ranks_why()) :
			 fail("%s is shorter than its answers", j->name);
}

static int write_answers(struct join *j, const void *data, size_t n, __u64 at)
{
	return ranks_write(j->to, data, n, at) ? fail("%s: %s", j->output, ranks_why()) : 0;
}

/* Go on to the unit that has answer @at. */
static void find_answer(struct join *j, __u64 at)
{
	while (j->begin[j->unit + 1] <= at)
		j->unit++;
}

static int join_bytes(struct join *j, __u64 at, __u64 end)
{
	__u64 n;
	int ret = 0;

	for (; at < end && !ret; at += n) {
		find_answer(j, at);
		n = lesser(lesser(j->begin[j->unit + 1], end) - at, COPY_BYTES);
		ret = read_answers(j, at - j->begin[j->unit], n);
		if (!ret)
			ret = write_answers(j, j->piece, n, at);
	}
	return ret;
}

/* Copy @n bits to where there are zeros. */
static void add_bits(unsigned char *to, __u64 at, const unsigned char *from, __u64 first, __u64 n)
{
	unsigned int most, bits;
	__u64 i;

	for (i = 0; i < n; i += most) {
		most = 8 - (unsigned int)((at + i) % 8);
		bits = 8 - (unsigned int)((first + i) % 8);
		most = (unsigned int)lesser(most < bits ? most : bits, n - i);
		bits = from[(first + i) / 8] >> (first + i) % 8 & ((1u << most) - 1);
		to[(at + i) / 8] |= (unsigned char)(bits << (at + i) % 8);
	}
}

/* Set @bits to the answers from @at, which begins a byte, to @end. */
static int gather_bits(struct join *j, __u64 at, __u64 end)
{
	__u64 first = at, n, skip;
	int ret = 0;

	for (; at < end && !ret; at += n) {
		find_answer(j, at);
		n = lesser(j->begin[j->unit + 1], end) - at;
		skip = at - j->begin[j->unit];
		ret = read_answers(j, skip / 8, (skip % 8 + n + 7) / 8);
		if (!ret)
			add_bits(j->bits, at - first, j->piece, skip % 8, n);
	}
	return ret;
}

/* @at, @end: bytes of the output, which has @all bits. */
static int audit_lines_join_bits(struct join *j, __u64 at, __u64 end, __u64 all)
{
	__u64 n;
	int ret = 0;

	for (; at < end && !ret; at += n) {
		n = lesser(end - at, COPY_BYTES);
		memset(j->bits, 0, n);
		ret = gather_bits(j, 8 * at, lesser(8 * (at + n), all));
		if (!ret)
			ret = write_answers(j, j->bits, n, at);
	}
	return ret;
}

/* Each rank does its share of the output. */
static int join_share(struct join *j, int what, __u64 all)
{
	__u64 bytes = what == OUT_BITMAP ? (all + 7) / 8 : all;
	__u64 nr = (unsigned int)ranks->nr, share = bytes / nr + 1;
	__u64 at = lesser(share * (unsigned int)ranks->rank, bytes);
	__u64 end = lesser(at + share, bytes);

	return what == OUT_BITMAP ? audit_lines_join_bits(j, at, end, all) : join_bytes(j, at, end);
}

/* Return: all answers. */
static __u64 audit_lines_add_up(__u64 *begin, const __u64 *count, __u64 units)
{
	__u64 i;

	for (i = 0; i < units; i++)
		begin[i + 1] = begin[i] + count[i];
	return begin[units];
}

static int join_output(struct part *p, struct join *j, int what)
{
	const __u64 *count = p->count + (what == OUT_RECORDS ? p->units : 0);
	__u64 all = audit_lines_add_up(j->begin, count, p->units);
	int ret = audit_open_shared(&j->from, p->piece[what]);

	if (ret)
		return ret;
	ret = audit_open_shared(&j->to, p->path[what]);
	if (!ret) {
		j->name = p->piece[what];
		j->output = p->path[what];
		j->unit = 0;
		j->room = what == OUT_RECORDS ? audit_records_at(p, 1) : p->unit;
		j->room = what == OUT_BITMAP ? p->unit / 8 : j->room;
		ret = join_share(j, what, all);
		if (ranks_close(j->to) && !ret)
			ret = fail("%s: %s", p->path[what], ranks_why());
	}
	ranks_close(j->from);
	return ranks_failed(ret) ? EXIT_FAIL : 0;
}

int audit_join_lines(struct part *p)
{
	struct join j = { .begin = calloc(p->units + 1, sizeof(*j.begin)),
			  .piece = malloc(COPY_BYTES + 1),
			  .bits = malloc(COPY_BYTES) };
	bool room = j.begin && j.piece && j.bits;
	int ret = room ? 0 : fail("out of memory"), i;

	ret = ranks_failed(ret) ? EXIT_FAIL : 0;
	if (!ret) {
		ranks_add(p->count, 2 * p->units);
		ranks_tell(p->count, 2 * p->units * sizeof(*p->count));
	}
	for (i = 0; i < AUDIT_ANSWERS && !ret; i++)
		if (p->path[i])
			ret = join_output(p, &j, i);
	free(j.begin);
	free(j.piece);
	free(j.bits);
	return ret;
}

void audit_forget(const struct part *p)
{
	int i;

	unlink(p->state_path);
	audit_marks_remove(p->state_path);
	for (i = 0; i < AUDIT_ANSWERS; i++)
		if (p->piece[i])
			unlink(p->piece[i]);
}
