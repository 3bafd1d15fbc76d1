// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* zstd by libzstd: frames one after another, skippable ones among them. */
#include "records/codec.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>
#include <zstd_errors.h>

/**
 * struct zstd - a decoder
 * @d: libzstd's
 * @between: behind a frame, so the file may end here
 */
struct zstd {
	ZSTD_DCtx *d;
	bool between;
};

static int log2_of(size_t n)
{
	int log2 = 0;

	while (n >>= 1)
		log2++;
	return log2;
}

static int zstd_open(struct stream *s)
{
	struct zstd *z = calloc(1, sizeof(*z));

	if (z)
		z->d = ZSTD_createDCtx();
	if (!z || !z->d ||
	    ZSTD_isError(
		    ZSTD_DCtx_setParameter(z->d, ZSTD_d_windowLogMax, log2_of(s->window_max)))) {
		if (z)
			ZSTD_freeDCtx(z->d);
		free(z);
		return -ENOMEM;
	}
	s->own = z;
	return 0;
}

static void zstd_judge(struct stream *s, size_t ret)
{
	switch (ZSTD_getErrorCode(ret)) {
	case ZSTD_error_no_error:
		return;
	case ZSTD_error_memory_allocation:
		stream_no_memory(s);
		return;
	case ZSTD_error_frameParameter_windowTooLarge:
		stream_too_wide(s, "zstd -dc --long=31");
		return;
	default:
		stream_damaged(s, ZSTD_getErrorName(ret));
	}
}

static size_t zstd_unpack(struct stream *s, void *to, size_t room)
{
	struct zstd *z = s->own;
	ZSTD_inBuffer in = { s->in, s->end, s->at };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t ret;

	if (z->between && s->at == s->end) {
		s->ended = s->eof;
		return 0;
	}
	ret = ZSTD_decompressStream(z->d, &out, &in);
	s->at = in.pos;
	z->between = !ret;
	zstd_judge(s, ret);
	return out.pos;
}

static void zstd_close(struct stream *s)
{
	struct zstd *z = s->own;

	ZSTD_freeDCtx(z->d);
	free(z);
}

const struct stream_codec stream_zstd = {
	.open = zstd_open,
	.unpack = zstd_unpack,
	.close = zstd_close,
};
