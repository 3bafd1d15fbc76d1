/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of the library share. They use its public header alone. */
#ifndef EPF_TEST_LIB_H
#define EPF_TEST_LIB_H

#include <libepf.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/tap.h"

#define KINDS_MAX 16u
#define HASH_KEY ((const unsigned char *)"0123456789abcdef")

/* What the library prints would come here. */
static int silent_out = -1, silent_err = -1, silent_to = -1;

/* From here on stdout and stderr go to memory. */
static inline void silent_begin(void)
{
	fflush(stdout);
	silent_to = memfd_create("printed", 0);
	silent_out = dup(1);
	silent_err = dup(2);
	if (silent_to < 0 || dup2(silent_to, 1) < 0 || dup2(silent_to, 2) < 0)
		abort();
}

/* Return: how many bytes have been printed since. */
static inline long silent_end(void)
{
	struct stat st;

	fflush(stdout);
	fflush(stderr);
	if (fstat(silent_to, &st) || dup2(silent_out, 1) < 0 || dup2(silent_err, 2) < 0)
		abort();
	close(silent_out);
	close(silent_err);
	close(silent_to);
	return (long)st.st_size;
}

/* SplitMix64, a stream of words. */
static inline uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline struct libepf_keys keys_of(const uint64_t *key, size_t n)
{
	return (struct libepf_keys){ .data = key, .n = n, .len = sizeof(*key) };
}

static inline struct libepf_info info_of(struct libepf_filter *f, uint64_t now)
{
	struct libepf_info info = { .size = sizeof(info) };

	if (libepf_filter_info(f, now, &info))
		memset(&info, 0, sizeof(info));
	return info;
}

/* A path below the folder of the test, which temp_gone() removes. */
static char temp_dir[] = "/tmp/epf_lib.XXXXXX";

static inline const char *temp_path(const char *name)
{
	static char path[4][128];
	static unsigned int next;
	char *to = path[next++ % 4];

	if (strstr(temp_dir, "XXXXXX") && !mkdtemp(temp_dir))
		abort();
	snprintf(to, sizeof(path[0]), "%s/%s", temp_dir, name);
	return to;
}

static inline void temp_gone(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", temp_dir);
	if (!strstr(temp_dir, "XXXXXX") && system(command))
		fprintf(stderr, "%s stays\n", temp_dir);
}

#endif /* EPF_TEST_LIB_H */
