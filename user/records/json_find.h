/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds members of a JSON text. Only these are read: what the others hold (numbers of any size,
 * lone surrogates, bytes that are no UTF-8) is passed over where the text's structure is right.
 */
#ifndef RECORDS_JSON_FIND_H
#define RECORDS_JSON_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* Limit of the members that are looked for. */
#define JSON_FIND_MAX 20

/* A value as it is in the text; @at: NULL: there is none. */
struct json_found {
	const char *at;
	size_t len;
};

/**
 * json_find() - find a JSON text, and members of it
 * @text: bytes; blanks may surround the JSON text
 * @len: how many
 * @name: names: "a.b" is member "a.b" or else member "b" of member "a". The last of equal
 *	members counts
 * @n: number of names, at most JSON_FIND_MAX
 * @root: result: the whole value
 * @found: results, one for each name
 *
 * Return: whether it is one JSON text, nested at most 2,048 times.
 */
bool json_find(const char *text, size_t len, const char *const *name, unsigned int n,
	       struct json_found *root, struct json_found *found);

/* Is it null? */
bool json_found_null(const struct json_found *v);

/**
 * json_found_text() - the text of a scalar
 * @v: value
 * @text: result: of a string its content, of a number, true and false the value as it is
 * @room: memory of @text, if it had to be made: to be freed; else NULL
 *
 * Return: NULL, or a phrase that says what is wrong.
 */
const char *json_found_text(const struct json_found *v, struct json_found *text, char **room);

#endif /* RECORDS_JSON_FIND_H */
