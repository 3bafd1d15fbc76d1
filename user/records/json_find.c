// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RFC 8259. What a string means is left to jansson, where its bytes do not show it. */
#include "records/json_find.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define DEPTH_MAX 2048

/**
 * struct json_text - a text being read
 * @at: next byte
 * @end: behind the last one
 * @depth: objects and arrays that are open
 * @found: results
 * @n: their number
 */
struct json_text {
	const char *at;
	const char *end;
	unsigned int depth;
	struct json_found *found;
	unsigned int n;
};

/* What is wanted of a value: of each result the rest of its name; NULL: nothing. */
struct wanted {
	const char *rest[JSON_FIND_MAX];
};

static bool read_value(struct json_text *t, const struct wanted *w);

static void blanks(struct json_text *t)
{
	while (t->at < t->end &&
	       (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r'))
		t->at++;
}

/* Take @c if it is next. */
static bool take(struct json_text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

/* Control characters cannot be in a string: a text that is cut off ends at its line. */
static bool read_string(struct json_text *t)
{
	if (!take(t, '"'))
		return false;
	for (; t->at < t->end && *t->at != '"'; t->at++)
		if ((unsigned char)*t->at < ' ' || (*t->at == '\\' && ++t->at == t->end))
			return false;
	return take(t, '"');
}

static bool digits(struct json_text *t)
{
	const char *from = t->at;

	while (t->at < t->end && isdigit((unsigned char)*t->at))
		t->at++;
	return t->at > from;
}

static bool read_number(struct json_text *t)
{
	take(t, '-');
	if (!take(t, '0') && !digits(t))
		return false;
	if (take(t, '.') && !digits(t))
		return false;
	if (!take(t, 'e') && !take(t, 'E'))
		return true;
	if (!take(t, '-'))
		take(t, '+');
	return digits(t);
}

static bool read_word(struct json_text *t, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(t->end - t->at) < len || memcmp(t->at, word, len))
		return false;
	t->at += len;
	return true;
}

/* Split what is wanted by the name of a member. Return: whether anything in its value is. */
static bool json_find_split(const struct json_text *t, const struct wanted *w, const char *name,
			    size_t len, struct wanted *here, struct wanted *below)
{
	bool dot = memchr(name, '.', len), any = false;
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		const char *rest = w->rest[i];
		bool begins = rest && strlen(rest) >= len && !memcmp(rest, name, len);

		here->rest[i] = begins && !rest[len] ? rest : NULL;
		below->rest[i] = begins && rest[len] == '.' && !dot ? rest + len + 1 : NULL;
		any |= below->rest[i] != NULL;
	}
	return any;
}

/* The same with a name as it is in the text, in quotes. One that means nothing is of no member. */
static bool split_name(const struct json_text *t, const struct wanted *w,
		       const struct json_found *name, struct wanted *here, struct wanted *below)
{
	struct json_found text = { name->at + 1, name->len - 2 };
	char *room = NULL;
	bool any = false;

	if (!memchr(text.at, '\\', text.len) || !json_found_text(name, &text, &room))
		any = json_find_split(t, w, text.at, text.len, here, below);
	free(room);
	return any;
}

static void set_found(struct json_text *t, const struct wanted *here,
		      const struct json_found *value, struct wanted *whole)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		if (here->rest[i]) {
			t->found[i] = *value;
			whole->rest[i] = here->rest[i];
		}
}

/* Parts of a name count no more where the whole was found. What an equal member before had is
 * gone.
 */
static void begin_below(struct json_text *t, struct wanted *below, const struct wanted *whole)
{
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		if (whole->rest[i])
			below->rest[i] = NULL;
		if (below->rest[i])
			t->found[i].at = NULL;
	}
}

/* Read a member whose name begins here. @whole: results that an object has by their whole name. */
static bool read_member(struct json_text *t, const struct wanted *w, struct wanted *whole)
{
	struct wanted here = { { NULL } }, below = { { NULL } };
	struct json_found name = { t->at, 0 }, value;
	bool any;

	if (!read_string(t))
		return false;
	name.len = (size_t)(t->at - name.at);
	any = w && split_name(t, w, &name, &here, &below);
	if (any)
		begin_below(t, &below, whole);
	blanks(t);
	if (!take(t, ':'))
		return false;
	blanks(t);
	value.at = t->at;
	if (!read_value(t, any ? &below : NULL))
		return false;
	value.len = (size_t)(t->at - value.at);
	if (w)
		set_found(t, &here, &value, whole);
	return true;
}

static bool read_object(struct json_text *t, const struct wanted *w)
{
	struct wanted whole = { { NULL } };

	blanks(t);
	if (take(t, '}'))
		return true;
	do {
		blanks(t);
		if (!read_member(t, w, &whole))
			return false;
		blanks(t);
	} while (take(t, ','));
	return take(t, '}');
}

static bool read_array(struct json_text *t)
{
	blanks(t);
	if (take(t, ']'))
		return true;
	do {
		blanks(t);
		if (!read_value(t, NULL))
			return false;
		blanks(t);
	} while (take(t, ','));
	return take(t, ']');
}

/* Recursion is bounded by DEPTH_MAX. */
static bool read_value(struct json_text *t, const struct wanted *w)
{
	bool ok;

	if (t->at == t->end || t->depth == DEPTH_MAX)
		return false;
	switch (*t->at) {
	case '"':
		return read_string(t);
	case 't':
		return read_word(t, "true");
	case 'f':
		return read_word(t, "false");
	case 'n':
		return read_word(t, "null");
	case '{':
	case '[':
		t->depth++;
		ok = *t->at++ == '{' ? read_object(t, w) : read_array(t);
		t->depth--;
		return ok;
	default:
		return read_number(t);
	}
}

bool json_find(const char *text, size_t len, const char *const *name, unsigned int n,
	       struct json_found *root, struct json_found *found)
{
	struct json_text t = { .at = text, .end = text + len, .found = found, .n = n };
	struct wanted w = { { NULL } };
	unsigned int i;

	for (i = 0; i < n; i++) {
		w.rest[i] = name[i];
		found[i].at = NULL;
	}
	blanks(&t);
	root->at = t.at;
	if (!read_value(&t, n ? &w : NULL))
		return false;
	root->len = (size_t)(t.at - root->at);
	blanks(&t);
	return t.at == t.end;
}

bool json_found_null(const struct json_found *v)
{
	return *v->at == 'n';
}

/* Is a string's content what its bytes are? */
static bool is_plain(const char *c, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (c[i] == '\\' || (signed char)c[i] < 0)
			return false;
	return true;
}

/* jansson knows escapes and UTF-8. */
static const char *decode(const struct json_found *v, struct json_found *text, char **room)
{
	json_t *s = json_loadb(v->at, v->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	if (!s)
		return "no valid UTF-8";
	text->len = json_string_length(s);
	*room = malloc(text->len + 1);
	if (*room)
		text->at = memcpy(*room, json_string_value(s), text->len);
	json_decref(s);
	return *room ? NULL : "too long: out of memory";
}

const char *json_found_text(const struct json_found *v, struct json_found *text, char **room)
{
	*room = NULL;
	*text = *v;
	if (*v->at == '{' || *v->at == '[' || *v->at == 'n')
		return "neither a string nor a number";
	if (*v->at != '"')
		return NULL;
	text->at++;
	text->len -= 2;
	return is_plain(text->at, text->len) ? NULL : decode(v, text, room);
}
