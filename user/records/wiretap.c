// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/wiretap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef EPF_LIBDIR
#define EPF_LIBDIR "/usr/local/lib/epochfilter"
#endif

static char program[] = EPF_LIBDIR "/epf-wiretap", path[] = CHILD_FILE, magic[] = "--magic";
static char *argv[] = { program, path, NULL }, *magic_argv[] = { program, magic, path, NULL };

const struct child_program wiretap = { "libwiretap", argv, "epf-wiretap is gone" };
const struct child_program wiretap_magic = { "libwiretap", magic_argv, "epf-wiretap is gone" };

/* What libpcap reads, in either byte order. Source: libpcap, sf-pcap.c and sf-pcapng.c. */
static const unsigned char magics[][4] = {
	{ 0xa1, 0xb2, 0xc3, 0xd4 }, { 0xd4, 0xc3, 0xb2, 0xa1 }, { 0xa1, 0xb2, 0xcd, 0x34 },
	{ 0x34, 0xcd, 0xb2, 0xa1 }, { 0xa1, 0xb2, 0x3c, 0x4d }, { 0x4d, 0x3c, 0xb2, 0xa1 },
	{ 0x0a, 0x0d, 0x0d, 0x0a },
};

bool wiretap_wanted(const void *head, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (len >= 4 && !memcmp(head, magics[i], 4))
			return false;
	return len >= 4;
}

/* EPF_WIRETAP names another program. */
static void __attribute__((constructor)) name_program(void)
{
	char *named = secure_getenv("EPF_WIRETAP");

	if (named)
		argv[0] = magic_argv[0] = named;
}

bool wiretap_there(void)
{
	return !access(argv[0], X_OK);
}
