// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xz by liblzma, which also reads several streams and the padding between them. */
#include "records/codec.h"

#include <errno.h>
#include <stdlib.h>

#include <lzma.h>

static int xz_open(struct stream *s)
{
	static const lzma_stream none = LZMA_STREAM_INIT;
	lzma_stream *x = malloc(sizeof(*x));

	if (!x)
		return -ENOMEM;
	*x = none;
	if (lzma_stream_decoder(x, s->window_max + STREAM_MEMORY, LZMA_CONCATENATED) != LZMA_OK) {
		free(x);
		return -ENOMEM;
	}
	s->own = x;
	return 0;
}

static const char *word_for(lzma_ret ret)
{
	switch (ret) {
	case LZMA_FORMAT_ERROR:
		return "not the header of a stream";
	case LZMA_OPTIONS_ERROR:
		return "unknown options";
	default:
		return "checksum or structure is wrong";
	}
}

static void xz_judge(struct stream *s, lzma_ret ret)
{
	switch (ret) {
	case LZMA_OK:
	case LZMA_BUF_ERROR: /* it needs more input, or more room */
		return;
	case LZMA_STREAM_END:
		s->ended = true;
		return;
	case LZMA_MEM_ERROR:
		stream_no_memory(s);
		return;
	case LZMA_MEMLIMIT_ERROR:
		stream_too_wide(s, "xz -dc");
		return;
	default:
		stream_damaged(s, word_for(ret));
	}
}

static size_t xz_unpack(struct stream *s, void *to, size_t room)
{
	lzma_stream *x = s->own;
	lzma_ret ret;

	x->next_in = s->in + s->at;
	x->avail_in = s->end - s->at;
	x->next_out = to;
	x->avail_out = room;
	ret = lzma_code(x, s->eof ? LZMA_FINISH : LZMA_RUN);
	s->at = s->end - x->avail_in;
	xz_judge(s, ret);
	return room - x->avail_out;
}

static void xz_close(struct stream *s)
{
	lzma_end(s->own);
	free(s->own);
}

const struct stream_codec stream_xz = {
	.open = xz_open,
	.unpack = xz_unpack,
	.close = xz_close,
};
