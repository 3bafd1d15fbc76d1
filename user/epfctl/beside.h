/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that are complete or absent: written under a temporary name beside the
 * one they are to have. Errors are negative errnos; nothing is printed.
 */
#ifndef EPFCTL_BESIDE_H
#define EPFCTL_BESIDE_H

/**
 * struct beside - a file being written; zeros: none
 * @path: the name it will have, free of links
 * @temp: the one it has until then
 */
struct beside {
	char *path;
	char *temp;
};

/**
 * beside_open() - begin
 * @b: result; zeros on failure
 * @path: name wanted; its permissions stay, where there is such a file, which
 *	has to be one that may be written
 *
 * Return: descriptor, or a negative errno.
 */
int beside_open(struct beside *b, const char *path);

/* Give it its name. Return: 0, or a negative errno; then it is gone. */
int beside_commit(struct beside *b);

/* Remove what was written; nothing where there is none. */
void beside_discard(struct beside *b);

/* @path with its directory (of an existing file: itself) free of links. NULL:
 * errno tells.
 */
char *beside_resolve(const char *path);

#endif /* EPFCTL_BESIDE_H */
