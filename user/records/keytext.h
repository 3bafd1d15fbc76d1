/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys from text, by the same rules for 'epfctl insert' and for records.
 *
 * Functions return NULL, or a phrase that says what is wrong, without the position.
 */
#ifndef RECORDS_KEYTEXT_H
#define RECORDS_KEYTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/epochfilter.h>

/**
 * struct keytext - a key
 * @bytes: its bytes; a digest is eight bytes in host byte order
 * @len: 1 .. EPF_KEY_MAX
 */
struct keytext {
	__u8 bytes[EPF_KEY_MAX];
	size_t len;
};

/* Convert hex digits to bytes. Return: number of bytes; -1: not hex, or more than @room. */
int parse_hex(const char *text, size_t len, __u8 *bytes, size_t room);

/* Is @len a valid length of a key? */
const char *keytext_length(size_t len);

const char *keytext_hex(struct keytext *k, const char *hex, size_t len);

/* 16 hex digits of a digest. */
const char *keytext_digest(struct keytext *k, const char *hex, size_t len);

#define KEYTEXT_NOT_JSON "not JSON: write \"key\", {\"key\": \"...\"} or {\"hex\": \"...\"}"

/* A string, or an object that has one as "key", or in hex as "hex", with any other members. */
const char *keytext_json(struct keytext *k, const char *text, size_t len, bool digest);

#endif /* RECORDS_KEYTEXT_H */
