// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* gzip by zlib. As gzip itself, it ignores zeros behind the last member. */
#include "records/codec.h"

#include <errno.h>
#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

/* zlib: windows of 2^15 bytes, and only the format of gzip */
#define WINDOW_BITS (15 + 16)

/**
 * struct gzip - a decoder
 * @z: zlib's
 * @between: behind a member, so the file may end here
 */
struct gzip {
	z_stream z;
	bool between;
};

static int gzip_open(struct stream *s)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g || inflateInit2(&g->z, WINDOW_BITS) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	s->own = g;
	return 0;
}

static void skip_zeros(struct stream *s)
{
	while (s->at < s->end && !s->in[s->at])
		s->at++;
}

/* Pass the input to zlib. Return: bytes of content, with zlib's answer in @ret. */
static size_t inflate_some(struct stream *s, void *to, size_t room, int *ret)
{
	struct gzip *g = s->own;
	z_stream *z = &g->z;

	z->next_in = s->in + s->at;
	z->avail_in = (uInt)(s->end - s->at);
	z->next_out = to;
	z->avail_out = room < (1u << 30) ? (uInt)room : 1u << 30;
	room = z->avail_out;
	*ret = inflate(z, Z_NO_FLUSH);
	s->at = s->end - z->avail_in;
	return room - z->avail_out;
}

static size_t gzip_unpack(struct stream *s, void *to, size_t room)
{
	struct gzip *g = s->own;
	size_t n;
	int ret;

	if (g->between)
		skip_zeros(s);
	if (g->between && s->at == s->end) {
		s->ended = s->eof;
		return 0;
	}
	g->between = false;
	n = inflate_some(s, to, room, &ret);
	if (ret == Z_STREAM_END) {
		inflateReset(&g->z);
		g->between = true;
	} else if (ret == Z_MEM_ERROR) {
		stream_no_memory(s);
	} else if (ret != Z_OK && ret != Z_BUF_ERROR) {
		stream_damaged(s, g->z.msg ? g->z.msg : "needs a dictionary");
	}
	return n;
}

static void gzip_close(struct stream *s)
{
	struct gzip *g = s->own;

	inflateEnd(&g->z);
	free(g);
}

const struct stream_codec stream_gzip = {
	.open = gzip_open,
	.unpack = gzip_unpack,
	.close = gzip_close,
};
