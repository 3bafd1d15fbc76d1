/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of a function: a struct that begins with its size, by the rules of
 * linux/epochfilter.h. A smaller struct (older program) is extended with zeros; a
 * larger one (newer program) must have zeros beyond what this library knows.
 */
#ifndef LIBEPF_OPTS_H
#define LIBEPF_OPTS_H

#include <errno.h>
#include <string.h>

#include <linux/types.h>

/**
 * epf_opts_copy() - take options
 * @to: result, of @known bytes
 * @known: size of the struct, in bytes
 * @first: its size when first published
 * @from: options
 *
 * Return: 0; -EINVAL: @from is smaller than @first; -E2BIG: it has options that are
 * not known.
 */
static inline int epf_opts_copy(void *to, __u32 known, __u32 first, const void *from)
{
	const unsigned char *bytes = (const unsigned char *)from;
	__u32 size, at;

	memcpy(&size, from, sizeof(size));
	if (size < first)
		return -EINVAL;
	for (at = known; at < size; at++)
		if (bytes[at])
			return -E2BIG;
	memset(to, 0, known);
	memcpy(to, from, size < known ? size : known);
	return 0;
}

#endif /* LIBEPF_OPTS_H */
