/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots of filters in the memory of this process. */
#ifndef LIBEPF_SNAP_IMAGE_H
#define LIBEPF_SNAP_IMAGE_H

#include "epf.h"
#include "epf/window.h"

/**
 * struct epf_snap_image - a filter to be written
 * @header: set by the functions below
 * @desc: what its keys are made of
 * @state: of a locked kind; NULL: lanes
 * @piece: piece @i of its memory, in the order of the file; sets @bytes to 0 after the
 *	last one
 * @ctx: for @piece
 */
struct epf_snap_image {
	struct epf_snap_header header;
	struct epf_key_desc desc;
	const struct epf_snap_locked *state;
	const void *(*piece)(void *ctx, __u32 i, __u64 *bytes);
	void *ctx;
};

/* Set the header, but for epochs. @wall_ns: now, on the wall clock. */
void epf_snap_image_header(struct epf_snap_image *image, const struct epf_params *params,
			   const __u64 key[2], __u64 inserts, __u64 wall_ns);
/* Set the current epoch, and the eight latest epochs; @now_ns on their clock. */
void epf_snap_image_epochs(struct epf_snap_image *image, const struct epf_state *state,
			   __u64 now_ns);
/* Write the file. Returns as epf_snap_save(). */
int epf_snap_image_save(struct epf_snap_image *image, const char *path);

#endif /* LIBEPF_SNAP_IMAGE_H */
