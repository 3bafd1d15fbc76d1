/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Snapshots of filters in the memory of this process. */
#ifndef LIBEPF_SNAP_IMAGE_H
#define LIBEPF_SNAP_IMAGE_H

#include "epf.h"
#include "epf/window.h"

/**
 * struct epf_snap_image - a filter to be written
 * @header: set by the functions below
 * @opts: time, keys and progress
 * @state: of a locked kind; NULL: lanes
 * @piece: piece @i of its memory, in the order of the file; sets @bytes to 0 after the
 *	last one
 * @ctx: for @piece
 */
struct epf_snap_image {
	struct epf_snap_header header;
	const struct epf_save_opts *opts;
	const struct epf_snap_locked *state;
	const void *(*piece)(void *ctx, __u32 i, __u64 *bytes);
	void *ctx;
};

/* Set the header, but for epochs. */
void epf_snap_image_header(struct epf_snap_image *image, const struct epf_params *params,
			   const __u64 key[2], __u64 inserts);
/* Set the current epoch, and the eight latest epochs; @now_ns on their clock. */
void epf_snap_image_epochs(struct epf_snap_image *image, const struct epf_state *state,
			   __u64 now_ns);
/* Write the file. @path, @header: as for epf_snap_save(), and so is the return. */
int epf_snap_image_save(struct epf_snap_image *image, const char *path,
			struct epf_snap_header *header);

#endif /* LIBEPF_SNAP_IMAGE_H */
