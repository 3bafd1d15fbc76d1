// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/keytext.h"
#include "records/json_find.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int parse_hex(const char *text, size_t len, __u8 *bytes, size_t room)
{
	size_t i;

	if (len % 2 || len / 2 > room)
		return -1;
	for (i = 0; i < len; i++) {
		int c = tolower((unsigned char)text[i]);
		int digit = isdigit(c) ? c - '0' : c - 'a' + 10;

		if (!isxdigit(c))
			return -1;
		bytes[i / 2] = (__u8)(i % 2 ? bytes[i / 2] | digit : digit << 4);
	}
	return (int)(len / 2);
}

const char *keytext_length(size_t len)
{
	if (!len)
		return "the key is empty: a key has 1 to 256 bytes";
	if (len > EPF_KEY_MAX)
		return "the key is longer than 256 bytes";
	return NULL;
}

static const char *keytext_plain(struct keytext *k, const char *text, size_t len)
{
	const char *why = keytext_length(len);

	if (why)
		return why;
	memcpy(k->bytes, text, len);
	k->len = len;
	return NULL;
}

const char *keytext_hex(struct keytext *k, const char *hex, size_t len)
{
	int n;

	if (len > 2 * EPF_KEY_MAX)
		return keytext_length(len);
	n = parse_hex(hex, len, k->bytes, sizeof(k->bytes));
	if (n < 0)
		return "not pairs of hex digits";
	k->len = (size_t)n;
	return keytext_length(k->len);
}

const char *keytext_digest(struct keytext *k, const char *hex, size_t len)
{
	__u8 bytes[sizeof(__u64)];
	__u64 digest = 0;
	size_t i;

	if (parse_hex(hex, len, bytes, sizeof(bytes)) != (int)sizeof(bytes))
		return "a digest is 16 hex digits";
	for (i = 0; i < sizeof(bytes); i++)
		digest = digest << 8 | bytes[i];
	k->len = sizeof(digest);
	memcpy(k->bytes, &digest, k->len);
	return NULL;
}

/* Set @key from what was found. */
static const char *of_found(struct keytext *k, const struct json_found *v, bool hex, bool digest)
{
	struct json_found text;
	char *room;
	const char *why = json_found_text(v, &text, &room);

	if (!why)
		why = (digest ? keytext_digest :
		       hex    ? keytext_hex :
				keytext_plain)(k, text.at, text.len);
	free(room);
	return why;
}

const char *keytext_json(struct keytext *k, const char *text, size_t len, bool digest)
{
	static const char *const names[] = { "key", "hex" };
	struct json_found root, found[2];
	const struct json_found *one = &root;

	if (!json_find(text, len, names, 2, &root, found))
		return KEYTEXT_NOT_JSON;
	if (*root.at == '{') {
		if (!found[0].at == !found[1].at)
			return "the object needs exactly one of \"key\" and \"hex\"";
		one = &found[found[1].at != NULL];
	}
	if (*one->at != '"')
		return "neither a JSON string nor an object with one as \"key\" or "
		       "\"hex\"";
	return of_found(k, one, found[1].at, digest);
}
