/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing snapshot files, for callers with lines of their own, and the memory of those that are
 * read. A file is whole when it appears under its name.
 */
#ifndef LIBEPF_SNAP_H
#define LIBEPF_SNAP_H

#include "epf.h"
#include "epf/geometry.h"

#include <xxhash.h>

/**
 * typedef epf_snap_fill_fn - fill an empty file
 * @ctx: context of the function
 * @fd: file
 * @h: out: header of the file
 *
 * The function ends with epf_snap_finish().
 *
 * Return: 0, or a negative errno: no file appears.
 */
typedef int (*epf_snap_fill_fn)(void *ctx, int fd, struct epf_snap_header *h);

/**
 * epf_snap_describe() - say what the keys of a snapshot are made of
 * @h: header; the call sets its version and size, before anything is written
 * @desc: a valid description
 */
void epf_snap_describe(struct epf_snap_header *h, const struct epf_key_desc *desc);

static inline __u64 epf_snap_lines_bytes(const struct epf_params *p)
{
	return p->nr_lines * EPF_LINE_BYTES;
}

/* The checksum of a header whose size is set. */
__u64 epf_snap_header_sum(const struct epf_snap_header *h, const struct epf_key_desc *desc);

/* As epf_snap_save(); @fill writes the contents. */
int epf_snap_write(const char *path, epf_snap_fill_fn fill, void *ctx,
		   struct epf_snap_header *header);

/* Reserve room for header and lines, so that a full disk shows before long work. */
int epf_snap_reserve(int fd, const struct epf_snap_header *h);
/**
 * epf_snap_put() - write lines, or words of a locked kind, in the byte order of files
 * @fd: file; -1: only sum
 * @sum: takes what is written
 * @words: in the byte order of this CPU
 * @bytes: a multiple of 8
 * @at: offset in the file
 */
int epf_snap_put(int fd, XXH3_state_t *sum, const void *words, size_t bytes, __u64 at);
/* Likewise the state of a locked kind, which belongs behind header @h. */
int epf_snap_put_state(int fd, XXH3_state_t *sum, const struct epf_snap_locked *state,
		       const struct epf_snap_header *h);
/* Write and sync the header, whose lines_xxh3 is set; @desc as above. */
int epf_snap_finish(int fd, struct epf_snap_header *h, const struct epf_key_desc *desc);

/* Bytes @from to @to of an open file will not be read soon, so that they need no memory. */
void epf_snap_let_go(const struct epf_snap_file *file, size_t from, size_t to);

#endif /* LIBEPF_SNAP_H */
