/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys out of text, the same for 'epfctl insert' and for records.
 *
 * Functions return NULL, or why it is no key: a phrase without the place.
 */
#ifndef AUDIT_KEYTEXT_H
#define AUDIT_KEYTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <linux/epochfilter.h>

/* How a JSON text is to be read for keys: a NUL is a byte as others are. */
#define KEYTEXT_JSON (JSON_DECODE_ANY | JSON_ALLOW_NUL)

/**
 * struct keytext - a key
 * @bytes: of it; of a digest its eight bytes in this machine's order
 * @len: 1 .. EPF_KEY_MAX
 */
struct keytext {
	__u8 bytes[EPF_KEY_MAX];
	size_t len;
};

/* Hex digits into at most @room bytes. Return: bytes; -1: not hex or more. */
int parse_hex(const char *text, size_t len, __u8 *bytes, size_t room);

/* Does a key of @len bytes make sense? */
const char *keytext_length(size_t len);

const char *keytext_hex(struct keytext *k, const char *hex, size_t len);

/* 16 hex digits of a digest. */
const char *keytext_digest(struct keytext *k, const char *hex, size_t len);

/* A string, or an object with one as "key" or, in hex, as "hex". */
const char *keytext_json(struct keytext *k, const json_t *v, bool digest);

#endif /* AUDIT_KEYTEXT_H */
