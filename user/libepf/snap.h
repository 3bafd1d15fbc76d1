/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing snapshot files: for whoever has lines of his own. A file is whole
 * when it appears under its name.
 */
#ifndef LIBEPF_SNAP_H
#define LIBEPF_SNAP_H

#include "epf.h"
#include "epf/geometry.h"

/**
 * typedef epf_snap_fill_fn - fill an empty file
 * @ctx: its own
 * @fd: file
 * @h: set to its header
 *
 * It ends with epf_snap_finish().
 *
 * Return: 0, or a negative errno: there will be no file.
 */
typedef int (*epf_snap_fill_fn)(void *ctx, int fd, struct epf_snap_header *h);

/**
 * epf_snap_describe() - say what the keys of a snapshot are made of
 * @h: header, whose version and size are set by it; before anything is written
 * @desc: sound
 */
void epf_snap_describe(struct epf_snap_header *h,
		       const struct epf_key_desc *desc);

static inline __u64 epf_snap_lines_bytes(const struct epf_params *p)
{
	return p->nr_lines * EPF_LINE_BYTES;
}

/* The checksum of a header, whose size is set. */
__u64 epf_snap_header_sum(const struct epf_snap_header *h,
			  const struct epf_key_desc *desc);

/* As epf_snap_save(), with what @fill makes. */
int epf_snap_write(const char *path, epf_snap_fill_fn fill, void *ctx,
		   struct epf_snap_header *header);

/* Room for header and lines: a full disk is then found before long work. */
int epf_snap_reserve(int fd, const struct epf_snap_header *h);
/* Write @bytes of lines, the first of them @at bytes behind the first line. */
int epf_snap_put(int fd, const struct epf_snap_header *h, const void *lines,
		 size_t bytes, __u64 at);
/* Write and sync the header, whose lines_xxh3 is set; @desc as above. */
int epf_snap_finish(int fd, struct epf_snap_header *h,
		    const struct epf_key_desc *desc);

#endif /* LIBEPF_SNAP_H */
