// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/json_find.h"
#include "records/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the text of a stamp that has an exponent. */
#define REAL_BYTES 32

_Static_assert(JSON_FIND_MAX >= REC_PARTS_MAX, "all members are found at once");

/* The parts of a key, then of its stamp. */
struct json_parts {
	struct json_found found[REC_PARTS_MAX];
	char *room[REC_PARTS_MAX];
	char real[REC_STAMP_MAX][REAL_BYTES];
};

static int json_open(struct rec_source *s, struct rec_error *e)
{
	(void)e;
	rec_skip_mark(&s->in);
	return 0;
}

static struct rec_raw raw_of(const struct json_found *text)
{
	return (struct rec_raw){ text->at, text->len };
}

/* A record without one of the members, or with null there, has no key. */
static int put_members(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		       struct json_parts *p, struct rec_error *e)
{
	struct rec_raw part[REC_FIELDS_MAX];
	unsigned int i;

	for (i = 0; i < s->nr_fields; i++) {
		struct json_found text;
		const char *why;

		if (!p->found[i].at || json_found_null(&p->found[i])) {
			s->count.keyless++;
			return 0;
		}
		why = json_found_text(&p->found[i], &text, &p->room[i]);
		if (why)
			return rec_bad(s, e, "line %llu: member %u is %s", rec_line_nr(s), i + 1,
				       why);
		part[i] = raw_of(&text);
	}
	return rec_key(s, b, raw, part, e);
}

/* Write a number without an exponent. */
static void expand(struct json_found *text, char *room)
{
	char copy[REAL_BYTES];

	if (text->len >= sizeof(copy))
		return;
	memcpy(copy, text->at, text->len);
	copy[text->len] = 0;
	text->len = (size_t)snprintf(room, REAL_BYTES, "%.6f", strtod(copy, NULL));
	text->at = room;
	if (text->len >= REAL_BYTES)
		text->len = 0; /* no stamp */
}

/* Return: NULL, or what is wrong. */
static const char *put_stamp(struct rec_source *s, struct json_parts *p)
{
	unsigned int i, n = s->nr_parts - s->nr_fields;
	struct rec_raw part[REC_STAMP_MAX];

	for (i = 0; i < n; i++) {
		const struct json_found *v = &p->found[s->nr_fields + i];
		struct json_found text;

		if (!v->at || json_found_text(v, &text, &p->room[s->nr_fields + i]))
			return "it has no time stamp: see --stamp";
		if (*v->at != '"' && memchr(text.at, 'e', text.len))
			expand(&text, p->real[i]);
		part[i] = raw_of(&text);
	}
	return rec_stamp(s, part);
}

/* Without fields a line has the form that 'epfctl insert' reads. */
static int put_insert(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		      struct rec_error *e)
{
	struct keytext key;
	const char *why = keytext_json(&key, raw.data, raw.len, s->spec.digest);

	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	rec_put_key(s, b, raw, &key);
	return 0;
}

static int put_record(struct rec_source *s, struct rec_batch *b, struct rec_raw line,
		      struct json_parts *p, struct rec_error *e)
{
	const char *why = put_stamp(s, p);

	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	return s->nr_fields ? put_members(s, b, line, p, e) : put_insert(s, b, line, e);
}

static int put_line(struct rec_source *s, struct rec_batch *b, struct rec_raw line,
		    struct rec_error *e)
{
	struct json_parts p = { .room = { NULL } };
	struct json_found root;
	unsigned int i;
	int err;

	if (!json_find(line.data, line.len, (const char *const *)s->field, s->nr_parts, &root,
		       p.found))
		return rec_bad(s, e, "line %llu: not JSON", rec_line_nr(s));
	err = put_record(s, b, line, &p, e);
	for (i = 0; i < s->nr_parts; i++)
		free(p.room[i]);
	return err;
}

static bool blank(struct rec_raw line)
{
	const char *c = line.data;
	size_t i = 0;

	while (i < line.len && strchr(" \t\r\n", c[i]) && c[i])
		i++;
	return i == line.len;
}

static int json_take(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	struct rec_raw line;
	int ret = 0;

	while (rec_goes_on(s, b) && (ret = rec_line(s, &line, e)) > 0) {
		ret = blank(line) ? 0 : put_line(s, b, line, e);
		if (ret)
			break;
	}
	return ret;
}

const struct rec_reader rec_json = {
	.open = json_open,
	.take = json_take,
};
