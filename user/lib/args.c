// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What programs pass: structs with a size, arrays of keys, names. */
#include "lib.h"

#include <errno.h>
#include <string.h>

#include "libepf/opts.h"

int lib_options(void *to, uint32_t known, uint32_t first, const void *from, bool needed)
{
	int err;

	memset(to, 0, known);
	if (!from)
		return needed ? lib_fail(-EINVAL, "options are missing: NULL") : 0;
	err = epf_opts_copy(to, known, first, from);
	if (err == -E2BIG)
		return lib_fail(err, "options that this version of libepf does not know");
	if (err)
		return lib_fail(err, "a struct of options is smaller than %u bytes: set its size",
				first);
	return 0;
}

int lib_out(const void *to, uint32_t first)
{
	uint32_t size = 0;

	if (to)
		memcpy(&size, to, sizeof(size));
	return size >= first ?
		       0 :
		       lib_fail(-EINVAL,
				"a struct for results is smaller than %u bytes: set its size",
				first);
}

void lib_give(void *to, const void *results, uint32_t known)
{
	const size_t head = sizeof(uint32_t);
	uint32_t size;

	memcpy(&size, to, sizeof(size));
	if (size > known)
		memset((char *)to + known, 0, size - known);
	else
		known = size;
	memcpy((char *)to + head, (const char *)results + head, known - head);
}

int lib_keys(const struct libepf_keys *keys)
{
	size_t i;

	if (!keys || (keys->n && !keys->data))
		return lib_fail(-EINVAL, "the keys are missing: NULL");
	if (!keys->n)
		return 0;
	if (!keys->lens) {
		if (!keys->len || keys->len > LIBEPF_KEY_MAX ||
		    keys->n > (size_t)PTRDIFF_MAX / keys->len)
			return lib_fail(-EINVAL, "keys of %zu bytes: a key has 1 to %u", keys->len,
					LIBEPF_KEY_MAX);
		return 0;
	}
	if (keys->len)
		return lib_fail(-EINVAL, "keys have either one length or an array of lengths");
	for (i = 0; i < keys->n; i++)
		if (!keys->lens[i] || keys->lens[i] > LIBEPF_KEY_MAX)
			return lib_fail(-EINVAL, "key %zu has %u bytes: a key has 1 to %u", i,
					keys->lens[i], LIBEPF_KEY_MAX);
	return 0;
}

int lib_name(const char *name)
{
	static const char good[] = "0123456789._-"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz";
	size_t len = name ? strnlen(name, LIBEPF_NAME_MAX + 1) : 0;

	if (len && len <= LIBEPF_NAME_MAX && name[0] != '.' && strspn(name, good) == len)
		return 0;
	return lib_fail(-EINVAL,
			"the name of a filter has 1 to %u of A-Z a-z 0-9 . _ -, and "
			"does not begin with '.'",
			LIBEPF_NAME_MAX);
}
