// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/reader.h"

#include <stdio.h>
#include <string.h>

/* Room for the text of an integer. */
#define INTEGER_BYTES 24

/* Limit of the values in a line; each takes 200 bytes of memory or more. */
#define VALUES_MAX 16384u

static int json_open(struct rec_source *s, struct rec_error *e)
{
	(void)e;
	rec_skip_mark(&s->in);
	return 0;
}

/* Return: for "a.b" the member "a.b", else member "b" of member "a"; NULL: none. */
static const json_t *member(const json_t *v, const char *name)
{
	const char *dot = strchr(name, '.');
	const json_t *one = json_object_get(v, name);

	while (!one && dot) {
		v = json_object_getn(v, name, (size_t)(dot - name));
		name = dot + 1;
		dot = strchr(name, '.');
		one = json_object_get(v, name);
	}
	return one;
}

/* Set one part of the key from @v. Return: NULL, or what is wrong with it. */
static const char *set_part(struct rec_raw *part, char *room, const json_t *v)
{
	if (json_is_string(v)) {
		part->data = json_string_value(v);
		part->len = json_string_length(v);
		return NULL;
	}
	if (!json_is_integer(v))
		return "neither a string nor an integer";
	part->data = room;
	part->len = (size_t)snprintf(room, INTEGER_BYTES, "%" JSON_INTEGER_FORMAT,
				     json_integer_value(v));
	return NULL;
}

/* A record without one of the members, or with null there, has no key. */
static int put_members(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		       const json_t *v, struct rec_error *e)
{
	char room[REC_FIELDS_MAX][INTEGER_BYTES];
	struct rec_raw part[REC_FIELDS_MAX];
	unsigned int i;

	for (i = 0; i < s->nr_fields; i++) {
		const json_t *one = member(v, s->field[i]);
		const char *why;

		if (!one || json_is_null(one)) {
			s->count.keyless++;
			return 0;
		}
		why = set_part(&part[i], room[i], one);
		if (why)
			return rec_bad(s, e, "line %llu: member %u is %s", rec_line_nr(s), i + 1,
				       why);
	}
	return rec_key(s, b, raw, part, e);
}

/* Set one part of a stamp, which may also have a fraction. */
static const char *set_time(struct rec_raw *part, char *room, const json_t *v)
{
	if (!json_is_real(v))
		return set_part(part, room, v);
	part->data = room;
	part->len = (size_t)snprintf(room, INTEGER_BYTES, "%.6f", json_real_value(v));
	return part->len < INTEGER_BYTES ? NULL : "too large";
}

/* Return: NULL, or what is wrong. */
static const char *put_stamp(struct rec_source *s, const json_t *v)
{
	unsigned int i, n = s->nr_parts - s->nr_fields;
	char room[REC_STAMP_MAX][INTEGER_BYTES];
	struct rec_raw part[REC_STAMP_MAX];

	for (i = 0; i < n; i++) {
		const json_t *one = member(v, s->field[s->nr_fields + i]);

		if (!one || set_time(&part[i], room[i], one))
			return "it has no time stamp: see --stamp";
	}
	return rec_stamp(s, part);
}

/* Without fields a line has the form that 'epfctl insert' reads. */
static int put_insert(struct rec_source *s, struct rec_batch *b, struct rec_raw raw,
		      const json_t *v, struct rec_error *e)
{
	struct keytext key;
	const char *why = keytext_json(&key, v, s->spec.digest);

	if (why)
		return rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	rec_put_key(s, b, raw, &key);
	return 0;
}

/* May the line have more values than VALUES_MAX? Characters inside strings count too:
 * the bound limits memory and need not be exact.
 */
static bool too_many_values(struct rec_raw line)
{
	const char *c = line.data;
	size_t i, n = 0;

	for (i = 0; i < line.len; i++)
		n += c[i] == ',' || c[i] == '[' || c[i] == '{';
	return n > VALUES_MAX;
}

static int put_line(struct rec_source *s, struct rec_batch *b, struct rec_raw line,
		    struct rec_error *e)
{
	const char *why;
	json_t *v;
	int err;

	if (too_many_values(line))
		return rec_bad(s, e, "line %llu: more than %u values", rec_line_nr(s), VALUES_MAX);
	v = json_loadb(line.data, line.len, KEYTEXT_JSON, NULL);
	if (!v)
		return rec_bad(s, e, "line %llu: not JSON", rec_line_nr(s));
	why = put_stamp(s, v);
	if (why)
		err = rec_bad(s, e, "line %llu: %s", rec_line_nr(s), why);
	else
		err = s->nr_fields ? put_members(s, b, line, v, e) : put_insert(s, b, line, v, e);
	json_decref(v);
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
