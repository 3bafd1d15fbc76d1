// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Snapshots of filters in the memory of this process; snap.c describes the format. */
#include "snap_image.h"
#include "atomic_file.h"
#include "snap.h"
#include "work.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

void epf_snap_image_header(struct epf_snap_image *image, const struct epf_params *params,
			   const __u64 key[2], __u64 inserts)
{
	struct epf_snap_header *h = &image->header;

	memset(h, 0, sizeof(*h));
	h->magic = EPF_SNAP_MAGIC;
	h->params = *params;
	memcpy(h->key, key, sizeof(h->key));
	h->inserts = inserts;
	h->realtime_ns = image->opts->wall_ns;
	epf_snap_describe(h, &image->opts->desc);
}

void epf_snap_image_epochs(struct epf_snap_image *image, const struct epf_state *state,
			   __u64 now_ns)
{
	struct epf_snap_header *h = &image->header;
	__u64 e = state->epoch;
	__u32 age, i;

	h->epoch_begin = h->epoch_end = e;
	for (age = 0; age < EPF_EPOCHS && age <= e - EPF_EPOCH_FIRST; age++) {
		i = (e - age) % EPF_EPOCHS;
		h->epochs[i].inserts = age ? state->ring[i].inserts : epf_count_of(state->count, e);
		h->epochs[i].age_ns = now_ns - state->ring[i].start_ns;
	}
}

static __u64 pieces_bytes(const struct epf_snap_image *image)
{
	__u64 all = 0, bytes;
	__u32 i;

	for (i = 0; image->piece(image->ctx, i, &bytes), bytes; i++)
		all += bytes;
	return all;
}

/**
 * struct put - writing of memory
 * @image: the filter
 * @fd: file
 * @sum: of what was written
 * @from: offset in the file of the first piece
 * @done: bytes so far
 * @all: of all pieces
 */
struct put {
	const struct epf_snap_image *image;
	int fd;
	XXH3_state_t *sum;
	__u64 from;
	__u64 done;
	__u64 all;
};

/* Write and sum a piece in steps. */
static int put_piece(struct put *p, const char *piece, __u64 bytes)
{
	const struct epf_save_opts *o = p->image->opts;
	int ret = 0;
	size_t n;

	for (; bytes && !ret; bytes -= n, piece += n) {
		n = bytes < EPF_STEP_BYTES ? bytes : EPF_STEP_BYTES;
		ret = epf_snap_put(p->fd, p->sum, piece, n, p->from + p->done);
		p->done += n;
		if (!ret && o->progress && o->progress(o->ctx, p->done, p->all))
			ret = -ECANCELED;
	}
	return ret;
}

/* Write and sum memory, then state: the order in which a file is checked. */
static int put_all(const struct epf_snap_image *image, int fd, XXH3_state_t *sum)
{
	size_t ahead = image->state ? sizeof(*image->state) : 0;
	struct put p = {
		image, fd, sum, image->header.header_bytes + ahead, 0, pieces_bytes(image)
	};
	const void *piece;
	__u64 bytes;
	int ret = 0;
	__u32 i;

	for (i = 0; !ret && (piece = image->piece(image->ctx, i, &bytes), bytes); i++)
		ret = put_piece(&p, piece, bytes);
	if (ret || !ahead)
		return ret;
	return epf_snap_put_state(fd, sum, image->state, &image->header);
}

static int snap_image_fill(void *ctx, int fd, struct epf_snap_header *h)
{
	struct epf_snap_image *image = ctx;
	XXH3_state_t *sum = XXH3_createState();
	__u64 ahead = image->state ? sizeof(*image->state) : 0;
	int ret;

	if (!sum)
		return -ENOMEM;
	XXH3_64bits_reset(sum);
	ret = epf_file_reserve(fd,
			       (off_t)(image->header.header_bytes + ahead + pieces_bytes(image)));
	if (!ret)
		ret = put_all(image, fd, sum);
	image->header.lines_xxh3 = XXH3_64bits_digest(sum);
	XXH3_freeState(sum);
	if (!ret)
		ret = epf_snap_finish(fd, &image->header, &image->opts->desc);
	*h = image->header;
	return ret;
}

int epf_snap_image_save(struct epf_snap_image *image, const char *path,
			struct epf_snap_header *header)
{
	return epf_snap_write(path, snap_image_fill, image, header);
}
