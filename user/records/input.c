// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for an incomplete line, and for as much again to be read. */
#define INPUT_BYTES (2 * REC_LINE_MAX)

/* Work of a line in addition to its bytes, in units of REC_WORK. */
#define LINE_WORK 16

int rec_input_open(struct rec_input *in, int fd, size_t window_max)
{
	memset(in, 0, sizeof(*in));
	in->fd = fd;
	in->stream = stream_open(fd, window_max);
	in->buf = malloc(INPUT_BYTES);
	return in->stream && in->buf ? 0 : -ENOMEM;
}

void rec_input_close(struct rec_input *in)
{
	stream_close(in->stream);
	if (in->child)
		child_close(in->child);
	free(in->buf);
}

/* Remove blanks. Return: bytes that are left. */
static size_t squeeze(__u8 *text, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		if (text[i] != ' ')
			text[n++] = text[i];
	return n;
}

static int read_to(struct rec_input *in, size_t end)
{
	ssize_t n = stream_read(in->stream, in->buf + in->end, end - in->end);

	if (n < 0)
		return (int)n;
	in->eof = !n;
	in->end += in->aligned ? squeeze(in->buf + in->end, (size_t)n) : (size_t)n;
	rec_input_limit(in);
	return 0;
}

int rec_input_more(struct rec_input *in)
{
	memmove(in->buf, in->buf + in->at, in->end - in->at);
	in->before += in->at;
	in->end -= in->at;
	in->at = 0;
	return read_to(in, INPUT_BYTES);
}

int rec_input_child(struct rec_source *s, const struct child_program *p, struct rec_error *e)
{
	struct rec_input *in = &s->in;
	struct child_file f = { in->fd,
				&in->stream,
				in->buf + in->at,
				in->end - in->at,
				s->spec.child == REC_CHILD_ANY,
				s->spec.stop };
	int ret;

	if (s->spec.child == REC_CHILD_NONE)
		return rec_error_set(e, -EOPNOTSUPP, "%s must not run here: use --no-agent",
				     p->name);
	ret = child_start(&in->child, p, &f, e);
	if (ret)
		return ret;
	in->at = in->end = 0;
	in->eof = false;
	return 0;
}

int rec_input_failed(const struct rec_input *in, int err, struct rec_error *e)
{
	const char *why = in->stream ? stream_why(in->stream) : "";
	return rec_error_set(e, err, "%s", *why ? why : strerror(-err));
}

bool rec_is_text(const struct rec_input *in)
{
	return !memchr(in->buf, 0, in->end < 8 ? in->end : 8);
}

/* A line is enough to detect a text format, the first bytes for any other. */
int rec_input_head(struct rec_input *in)
{
	int err = 0;

	while (!err && !in->eof && in->end < REC_HEAD_BYTES &&
	       (in->end < 4 || (rec_is_text(in) && !memchr(in->buf, '\n', in->end))))
		err = read_to(in, REC_HEAD_BYTES);
	return err;
}

void rec_skip_mark(struct rec_input *in)
{
	if (in->end >= 3 && !memcmp(in->buf, "\xef\xbb\xbf", 3))
		in->at = 3;
}

int rec_too_long(const struct rec_source *s, struct rec_error *e)
{
	return rec_error_set(e, -EBADMSG, "line %llu: record longer than %u bytes",
			     rec_input_line(&s->in) + 1, REC_LINE_MAX);
}

bool rec_goes_on(struct rec_source *s, const struct rec_batch *b)
{
	s->more = b->n == REC_BATCH || s->count.work >= s->until;
	return !s->more;
}

int rec_line(struct rec_source *s, struct rec_raw *line, struct rec_error *e)
{
	struct rec_input *in = &s->in;
	const __u8 *from = in->buf + in->at;
	size_t left = in->end - in->at;
	const __u8 *stop = memchr(from, '\n', left);

	line->data = from;
	line->len = stop ? (size_t)(stop - from) + 1 : left;
	if (line->len > REC_LINE_MAX)
		return rec_too_long(s, e);
	if (!stop && (!in->eof || !left))
		return 0;
	in->at += line->len;
	in->line++;
	s->count.work += line->len + LINE_WORK;
	return 1;
}

int rec_keep_prologue(struct rec_source *s, const void *data, size_t len, struct rec_error *e)
{
	void *copy = malloc(len);

	if (!copy)
		return rec_error_set(e, -ENOMEM, "out of memory");
	s->prologue.data = memcpy(copy, data, len);
	s->prologue.len = len;
	return 0;
}

int rec_first_line(struct rec_source *s, struct rec_raw *line, struct rec_error *e)
{
	int ret;

	while (!(ret = rec_line(s, line, e)) && !s->in.eof) {
		ret = rec_input_more(&s->in);
		if (ret)
			return rec_input_failed(&s->in, ret, e);
	}
	if (!ret)
		return rec_error_set(e, -EBADMSG, "the header is missing");
	return ret < 0 ? ret : rec_keep_prologue(s, line->data, line->len, e);
}
