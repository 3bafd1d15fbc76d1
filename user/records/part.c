// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parts of files whose records are lines. A line belongs to the part in which its first
 * byte is, so parts that join have each record once.
 */
#include "records/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCAN_BYTES (1u << 20)

bool rec_may_be_cut(const struct rec_source *source)
{
	if (rec_packed(source) || rec_by_child(source) || source->spec.multiline)
		return false;
	return source->reader == &rec_text || source->reader == &rec_json ||
	       source->reader == &rec_csv;
}

/* Pieces of a file */

/**
 * struct scan - a file, piece by piece
 * @fd: the file
 * @next: offset of the next piece
 * @n: bytes in @piece
 */
struct scan {
	int fd;
	__u64 next;
	size_t n;
	char *piece;
};

static int scan_begin(struct scan *s, int fd, __u64 from)
{
	*s = (struct scan){ .fd = fd, .next = from, .piece = malloc(SCAN_BYTES) };
	return s->piece ? 0 : -ENOMEM;
}

/* Return: 1; 0: the end; a negative errno. */
static int scan_piece(struct scan *s)
{
	ssize_t n;

	do
		n = pread(s->fd, s->piece, SCAN_BYTES, (off_t)s->next);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	s->n = (size_t)n;
	s->next += (__u64)n;
	return n > 0;
}

/* The part of a source */

/* The line that begins last before the limit is the last one. */
void rec_input_limit(struct rec_input *in)
{
	__u64 at;
	__u8 *stop;

	if (!in->limit || in->before + in->end < in->limit)
		return;
	at = in->limit - 1 - in->before;
	stop = memchr(in->buf + at, '\n', in->end - at);
	if (!stop)
		return;
	in->end = (size_t)(stop - in->buf) + 1;
	in->eof = true;
}

/* Go to the first line that begins at offset @from or later. Return: 0; a negative errno. */
static int skip_to(struct rec_input *in, __u64 from)
{
	int err = stream_seek(in->stream, from - 1);
	const __u8 *stop = NULL;

	in->before = from - 1;
	in->at = in->end = 0;
	in->eof = false;
	while (!err && !stop && !in->eof) {
		in->at = in->end;
		err = rec_input_more(in);
		stop = memchr(in->buf, '\n', in->end);
	}
	in->at = stop ? (size_t)(stop - in->buf) + 1 : in->end;
	in->line = 0;
	in->origin = in->before + in->at;
	return err;
}

int rec_input_part(struct rec_input *in, const struct rec_part *part)
{
	int err = part->from > in->before + in->at ? skip_to(in, part->from) : 0;

	if (err)
		return err;
	in->limit = part->to;
	if (!part->to || in->before + in->at < part->to) {
		rec_input_limit(in);
		return 0;
	}
	in->end = in->at;
	in->eof = true;
	return 0;
}

static __u64 lines_in(const char *at, size_t n)
{
	const char *end = at + n;
	__u64 lines = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		lines++;
	}
	return lines;
}

/* If reading fails, the rest is not counted. */
static __u64 lines_before(int fd, __u64 offset)
{
	__u64 lines = 0, at = 0;
	struct scan s;
	int more = scan_begin(&s, fd, 0);

	while (!more && at < offset && scan_piece(&s) > 0) {
		lines += lines_in(s.piece, offset - at < s.n ? (size_t)(offset - at) : s.n);
		at = s.next;
	}
	free(s.piece);
	return lines;
}

unsigned long long rec_input_line(const struct rec_input *in)
{
	return in->line + (in->origin ? lines_before(in->fd, in->origin) : 0);
}

unsigned long long rec_line_nr(const struct rec_source *s)
{
	return s->spec.skip_bad ? s->in.line : rec_input_line(&s->in);
}
