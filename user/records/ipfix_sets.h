/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks of sets of IPFIX messages before libfixbuf reads them. Included only by
 * ipfix.c. Section numbers are those of RFC 7011.
 */
#ifndef RECORDS_IPFIX_SETS_H
#define RECORDS_IPFIX_SETS_H

#include <stdbool.h>
#include <stddef.h>

#include "epf/packet.h"

#define MESSAGE_HEADER 16
#define MESSAGE_MAX 65535
#define SET_HEADER 4
#define TEMPLATE_SET 2
#define OPTIONS_SET 3
#define FIRST_DATA_SET 256

/* Limits of the fields of a template, and of equal elements among them: for each
 * field libfixbuf counts the equal ones before it.
 */
#define WIDTH_MAX 1024
#define EQUAL_MAX 16

static __u32 be32(const __u8 *p)
{
	return epf_be16(p) << 16 | epf_be16(p + 2);
}

/* Do the sets fill the message, each with a valid length and identifier (section
 * 3.3.2)? Return: NULL, or what is wrong.
 */
static const char *check_sets(const __u8 *m, size_t len)
{
	size_t at = MESSAGE_HEADER;

	while (at < len) {
		__u32 id, n;

		if (len - at < SET_HEADER)
			return "it ends inside the header of a set";
		id = epf_be16(m + at);
		n = epf_be16(m + at + 2);
		if (n < SET_HEADER || n > len - at)
			return "the length of a set is wrong";
		if (id < FIRST_DATA_SET && id != TEMPLATE_SET && id != OPTIONS_SET)
			return "a set has a reserved identifier";
		at += n;
	}
	return NULL;
}

/* Bytes of a template before its fields. */
static size_t template_head(__u32 kind)
{
	return kind == OPTIONS_SET ? 6 : 4;
}

/* Walk the fields of a template (section 3.2). Return: its length including its
 * header of @head bytes; 0: it exceeds the set, or a field has length 0. If fields
 * could have length 0, a data set could have more fields than bytes.
 */
static size_t fields_end(const __u8 *t, size_t left, size_t head)
{
	__u32 count = epf_be16(t + 2);
	size_t at = head;

	for (; count; count--) {
		size_t n = left - at < 4 ? 0 : t[at] & 0x80 ? 8 : 4;

		if (!n || n > left - at || !epf_be16(t + at + 2))
			return 0;
		at += n;
	}
	return at;
}

/* The identity of an element: its number, and that of its enterprise. */
static __u64 element_at(const __u8 *field)
{
	return (__u64)epf_be16(field) << 32 | (field[0] & 0x80 ? be32(field + 4) : 0);
}

/* Does an element occur more often than EQUAL_MAX? */
static bool repeats(const __u8 *t, size_t head)
{
	__u32 count = epf_be16(t + 2), i, j;
	__u64 element[WIDTH_MAX];
	const __u8 *field = t + head;

	for (i = 0; i < count; i++) {
		__u32 equal = 1;

		element[i] = element_at(field);
		for (j = 0; j < i && count > EQUAL_MAX; j++)
			equal += element[j] == element[i];
		if (equal > EQUAL_MAX)
			return true;
		field += field[0] & 0x80 ? 8 : 4;
	}
	return false;
}

/* Return: the length of a template (section 3.4); 0: it is invalid, with @why set. */
static size_t template_length(const __u8 *t, size_t left, size_t head, const char **why)
{
	__u32 count = epf_be16(t + 2), scope;
	size_t len = 0;

	*why = "a template is cut off, or has a field of length 0";
	if (left < head)
		return 0;
	scope = head > 4 ? epf_be16(t + 4) : 1;
	if (epf_be16(t) < FIRST_DATA_SET)
		*why = "a template has a number below 256";
	else if (count > WIDTH_MAX)
		*why = "a template has more than 1024 fields";
	else if (!scope || scope > count)
		*why = "an options template has no valid count of scope fields";
	else
		len = fields_end(t, left, head);
	if (!len || !repeats(t, head))
		return len;
	*why = "a template repeats an element more than 16 times";
	return 0;
}

#endif /* RECORDS_IPFIX_SETS_H */
