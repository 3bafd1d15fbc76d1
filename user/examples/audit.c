// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which lines of a file are keys of a snapshot? Prints them with their ages, in epochs.
 *
 *	cc audit.c $(pkg-config --cflags --libs libepf) -o audit
 *	./audit web.epf addresses.txt
 */
#include <libepf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 1000000

static char bytes[KEYS * 64];
static uint16_t lens[KEYS];
static uint8_t ages[KEYS];

/* Return: how many lines there are, at most KEYS; longer ones than a key are cut. */
static size_t read_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[4096], *at = bytes;
	size_t n = 0, len;

	while (f && n < KEYS && fgets(line, sizeof(line), f)) {
		len = strcspn(line, "\n");
		len = len < LIBEPF_KEY_MAX ? len : LIBEPF_KEY_MAX;
		if (!len || len > (size_t)(bytes + sizeof(bytes) - at))
			continue;
		memcpy(at, line, len);
		at += len;
		lens[n++] = (uint16_t)len;
	}
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	struct libepf_keys keys = { .data = bytes, .lens = lens };
	struct libepf_audit audit = { .size = sizeof(audit), .ages = ages };
	struct libepf_snapshot *snapshot;
	const char *at = bytes;
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: audit SNAPSHOT FILE\n");
		return 2;
	}
	keys.n = read_lines(argv[2]);
	if (libepf_snapshot_open(argv[1], LIBEPF_SNAPSHOT_COPY, &snapshot) ||
	    libepf_snapshot_audit(snapshot, &keys, &audit)) {
		fprintf(stderr, "audit: %s\n", libepf_error());
		return 1;
	}
	for (i = 0; i < keys.n; at += lens[i++])
		if (ages[i] != LIBEPF_AGE_ABSENT)
			printf("%.*s age %u\n", lens[i], at, ages[i]);
	libepf_snapshot_close(snapshot);
	return 0;
}
