// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Snapshots of filters in this process, of kind lanes. */
#include "epf.h"
#include "snap_image.h"

#include <string.h>

/* The only piece: the lines. */
static const void *lines_piece(void *ctx, __u32 i, __u64 *bytes)
{
	const struct epf_mem_parts *p = ctx;

	*bytes = i ? 0 : p->bytes;
	return p->lines;
}

int epf_mem_save(struct epf_mem *m, const struct epf_save_opts *opts, const char *path,
		 struct epf_snap_header *header)
{
	struct epf_mem_parts p;
	struct epf_snap_image image = { .opts = opts, .piece = lines_piece, .ctx = &p };
	int ret;

	epf_mem_parts(m, opts->now_ns, &p);
	epf_snap_image_header(&image, p.params, p.key, p.inserts);
	epf_snap_image_epochs(&image, p.state, opts->now_ns);
	ret = epf_snap_image_save(&image, path, header);
	explicit_bzero(&image, sizeof(image)); /* it holds the hash key */
	return ret;
}
