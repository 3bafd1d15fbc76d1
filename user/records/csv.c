// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CSV, read with libcsv. A record is a line, as in a log: a quote that somebody else has written
 * into one line must not hide the next. Only with multiline a quoted field may have ends of
 * lines, as in RFC 4180. libcsv does not report where in the input a record ends. It therefore
 * gets the input line by line, and a record ends with the line in which libcsv reports an end.
 */
#include "records/reader.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>

/* One byte more than the longest text that a key or a part of it can have. */
#define PART_BYTES (2 * EPF_KEY_MAX + 1)

/* The lines of the current record that were passed to libcsv. */
struct csv_record {
	size_t len;
	__u64 lines;
	const char *why; /* the reason why it cannot be read, or NULL */
};

/**
 * struct csv - a reader
 * @p: libcsv's parser
 * @s: source that the reader belongs to
 * @column: column of each part, from 0
 * @twice: a field that the header names twice, or NULL
 * @columns: columns seen in the current record
 * @ends: record ends that libcsv reported since the current record began
 * @r: current record, which starts at the beginning of the input
 * @part: parts of its key, then of its time stamp
 * @text: bytes of @part
 */
struct csv {
	struct csv_parser p;
	const struct rec_source *s;
	size_t column[REC_PARTS_MAX];
	const char *twice;
	size_t columns;
	unsigned int ends;
	struct csv_record r;
	struct rec_raw part[REC_PARTS_MAX];
	char text[REC_PARTS_MAX][PART_BYTES];
};

/* Work of a record in addition to its bytes, in units of REC_WORK. */
#define RECORD_WORK 16

typedef void (*csv_field_fn)(void *text, size_t len, void *ctx);

static void end_of_record(int end, void *ctx)
{
	struct csv *c = ctx;

	(void)end;
	c->ends++;
}

static void field_of_record(void *text, size_t len, void *ctx)
{
	struct csv *c = ctx;
	unsigned int i;

	for (i = 0; i < c->s->nr_parts; i++) {
		if (c->column[i] != c->columns)
			continue;
		if (len > PART_BYTES)
			len = PART_BYTES;
		if (len)
			memcpy(c->text[i], text, len);
		c->part[i].data = c->text[i];
		c->part[i].len = len;
	}
	c->columns++;
}

static void field_of_header(void *text, size_t len, void *ctx)
{
	struct csv *c = ctx;
	unsigned int i;

	for (i = 0; i < c->s->nr_parts; i++) {
		const char *name = c->s->field[i];

		if (strlen(name) != len || memcmp(name, text, len))
			continue;
		if (c->column[i] != SIZE_MAX)
			c->twice = name;
		c->column[i] = c->columns;
	}
	c->columns++;
}

/* Keep libcsv from stripping blanks: they are part of a field. */
static int no_space(unsigned char c)
{
	(void)c;
	return 0;
}

static void csv_start(struct csv *c)
{
	csv_init(&c->p, CSV_STRICT | CSV_STRICT_FINI);
	csv_set_space_func(&c->p, no_space);
	csv_set_blk_size(&c->p, REC_FIELD_BYTES);
	if (c->s->spec.separator)
		csv_set_delim(&c->p, (unsigned char)c->s->spec.separator);
}

/* Drop the current record. */
static void restart(struct csv *c)
{
	csv_free(&c->p);
	csv_start(c);
}

static const char *csv_why_not(struct csv *c)
{
	return csv_error(&c->p) == CSV_EPARSE ? "a quote inside an unquoted field, or text after a "
						"closing quote" :
						csv_strerror(csv_error(&c->p));
}

/* Pass one line to libcsv; @fini: the record ends with it. */
static const char *parse_line(struct csv *c, const __u8 *line, size_t len, bool fini,
			      csv_field_fn field)
{
	if (csv_parse(&c->p, line, len, field, end_of_record, c) < len)
		return csv_why_not(c);
	if (fini && csv_fini(&c->p, field, end_of_record, c))
		return c->s->spec.multiline ?
			       "the input ends inside a quoted field" :
		       c->s->spec.separator && c->s->spec.separator != ',' ?
			       "a quoted field does not end in its line" :
			       "a quoted field does not end in its line: see --multiline";
	if (c->ends > 1)
		return "a carriage return before the end of the line";
	return NULL;
}

/* Continue the current record, or begin the next. Return: whether it is complete or
 * known to be bad.
 */
static bool next_record(struct csv *c, csv_field_fn field)
{
	const struct rec_input *in = &c->s->in;
	const __u8 *from = in->buf + in->at;
	size_t left = in->end - in->at;
	struct csv_record *r = &c->r;
	bool joins = c->s->spec.multiline;

	while (!c->ends && !r->why && r->len < left) {
		const __u8 *line = from + r->len;
		const __u8 *stop = memchr(line, '\n', left - r->len);
		size_t n = stop ? (size_t)(stop - line) + 1 : left - r->len;

		if (!stop && !in->eof)
			break;
		r->len += n;
		r->lines++;
		r->why = parse_line(c, line, n, !joins || (in->eof && r->len == left), field);
	}
	if (!c->ends && !r->why && in->eof)
		r->why = parse_line(c, from, 0, true, field);
	return c->ends || r->why;
}

/* Empty lines are not records, nor are those of carriage returns. */
static void skip_blank(struct rec_input *in)
{
	for (;;) {
		const __u8 *p = in->buf + in->at;
		size_t left = in->end - in->at, n = 0;

		while (n < left && p[n] == '\r')
			n++;
		if (n == left || p[n] != '\n')
			return;
		in->at += n + 1;
		in->line++;
	}
}

/* Is the record too long? One of several lines is a bad record then, since a quote may join
 * them by mistake. Return: 0; -EBADMSG: nothing can be read after it.
 */
static int csv_check_length(struct rec_source *s, bool *found, struct rec_error *e)
{
	const struct rec_input *in = &s->in;
	struct csv *c = s->own;

	if ((*found ? c->r.len : in->end - in->at) <= REC_LINE_MAX)
		return 0;
	if (!c->r.lines || (*found && c->r.lines == 1))
		return rec_too_long(s, e);
	c->r.why = "a quoted field with ends of lines makes the record too long";
	*found = true;
	return 0;
}

/* Find the next record. Return: 1; 0: none is complete; -EBADMSG. */
static int find_record(struct rec_source *s, csv_field_fn field, struct rec_error *e)
{
	struct rec_input *in = &s->in;
	struct csv *c = s->own;
	bool found;

	if (!c->r.len)
		skip_blank(in);
	found = next_record(c, field);
	if (csv_check_length(s, &found, e))
		return -EBADMSG;
	if (!found && in->eof)
		in->at = in->end; /* only carriage returns are left */
	return found;
}

/* Move past the record, of a bad one past its first line. That was counted before. */
static void take_record(struct rec_source *s, bool bad)
{
	struct csv *c = s->own;
	const __u8 *from = s->in.buf + s->in.at, *stop = memchr(from, '\n', c->r.len);

	s->count.work += c->r.len + RECORD_WORK;
	s->count.spanning += !bad && c->r.lines > 1;
	if (bad) {
		restart(c);
		c->r.len = stop ? (size_t)(stop - from) + 1 : c->r.len;
		c->r.lines = 1;
	}
	s->in.at += c->r.len;
	s->in.line += c->r.lines - 1;
	memset(&c->r, 0, sizeof(c->r));
	c->columns = 0;
	c->ends = 0;
}

static int csv_put_record(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	const struct csv *c = s->own;
	struct rec_raw raw = { s->in.buf + s->in.at, c->r.len };
	const char *why = c->r.why;
	unsigned int i;

	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	for (i = 0; i < s->nr_parts; i++)
		if (c->column[i] >= c->columns)
			return rec_bad(s, e,
				       "line %llu: it has %zu fields, but the "
				       "key includes field %zu",
				       rec_line_nr(s), c->columns, c->column[i] + 1);
	why = rec_stamp(s, c->part + s->nr_fields);
	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	return rec_key(s, b, raw, c->part, e);
}

static int csv_take(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	int ret = 0;

	while (rec_goes_on(s, b) && (ret = find_record(s, field_of_record, e)) > 0) {
		__u64 bad = s->count.bad;

		s->in.line++;
		ret = csv_put_record(s, b, e);
		if (ret)
			break;
		take_record(s, s->count.bad > bad);
	}
	return ret;
}

static int read_header(struct rec_source *s, struct rec_error *e)
{
	const struct csv *c = s->own;
	int ret;

	while (!(ret = find_record(s, field_of_header, e)) && !s->in.eof) {
		ret = rec_input_more(&s->in);
		if (ret)
			return rec_input_failed(&s->in, ret, e);
	}
	if (ret < 0)
		return ret;
	if (!ret || c->r.why)
		return rec_error_set(e, -EBADMSG, "the header is %s", ret ? "not CSV" : "missing");
	ret = rec_keep_prologue(s, s->in.buf + s->in.at, c->r.len, e);
	s->in.line++;
	take_record(s, false);
	return ret;
}

/* Fields that the header does not name must be column numbers. */
static int number_fields(struct rec_source *s, struct rec_error *e)
{
	struct csv *c = s->own;
	unsigned int i;

	if (c->twice)
		return rec_error_set(e, -EINVAL, "the header has two fields '%s'", c->twice);
	for (i = 0; i < s->nr_parts; i++) {
		unsigned long n;
		char *end;

		if (c->column[i] != SIZE_MAX)
			continue;
		errno = 0;
		n = strtoul(s->field[i], &end, 10);
		if (errno || *end || !n || n > REC_LINE_MAX || s->field[i][0] < '0' ||
		    s->field[i][0] > '9')
			return rec_error_set(
				e, -EINVAL, "there is no field '%s': %s", s->field[i],
				s->spec.header ?
					"neither a name of the header nor a number from 1" :
					"not a number from 1; names need --header");
		c->column[i] = n - 1;
	}
	return 0;
}

static int csv_open(struct rec_source *s, struct rec_error *e)
{
	struct csv *c = calloc(1, sizeof(*c));
	unsigned int i;
	int err;

	if (!c)
		return rec_error_set(e, -ENOMEM, "out of memory");
	s->own = c;
	c->s = s;
	csv_start(c);
	for (i = 0; i < REC_PARTS_MAX; i++)
		c->column[i] = SIZE_MAX;
	rec_skip_mark(&s->in);
	err = s->spec.header ? read_header(s, e) : 0;
	return err ? err : number_fields(s, e);
}

static void csv_close(struct rec_source *s)
{
	struct csv *c = s->own;

	if (!c)
		return;
	csv_free(&c->p);
	free(c);
}

const struct rec_reader rec_csv = {
	.open = csv_open,
	.take = csv_take,
	.close = csv_close,
};
