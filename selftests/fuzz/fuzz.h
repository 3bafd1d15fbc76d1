/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzz targets share. A target is one file with one function,
 * LLVMFuzzerTestOneInput(), that gives an input to the product's own code and checks
 * properties; libFuzzer and the sanitizers do the rest. Every target accepts any bytes
 * as input.
 */
#ifndef EPF_FUZZ_H
#define EPF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size);

/* A violated property ends the program, as a bad access does. */
static inline void law(bool good, const char *claim)
{
	if (good)
		return;
	dprintf(2, "law broken: %s\n", claim); /* stderr may be redirected */
	abort();
}

/**
 * struct input - bytes not used yet; after its end an input continues with zeros
 * @p: next byte
 * @left: number of bytes left
 */
struct input {
	const __u8 *p;
	size_t left;
};

static inline __u8 take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline __u32 take16(struct input *in)
{
	__u32 low = take(in);

	return low | (__u32)take(in) << 8;
}

/* Return: a copy of exactly @len bytes, so that a sanitizer sees an access beyond them. */
static inline __u8 *exactly(const void *from, size_t len)
{
	__u8 *copy = malloc(len);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, from, len);
	return copy;
}

/* A new directory below TMPDIR. */
static inline void make_dir(char path[64])
{
	const char *top = getenv("TMPDIR");

	snprintf(path, 64, "%.40s/fuzz.XXXXXX", top ? top : "/tmp");
	if (!mkdtemp(path))
		abort();
}

#endif /* EPF_FUZZ_H */
