/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to streams: the formats of compression. Users include stream.h. */
#ifndef RECORDS_CODEC_H
#define RECORDS_CODEC_H

#include "records/stream.h"

/* Bytes of the file that are read at once. */
#define STREAM_IN_BYTES (128u << 10)

/**
 * struct stream - a file being read
 * @fd: the file
 * @window_max: see stream_open()
 * @codec: format of compression; NULL: not compressed, or not known yet
 * @known: it is known whether the file is compressed
 * @eof: the end of the file was read
 * @in: bytes of the file, from offset @before on
 * @at: offset in @in of the first byte that is not consumed
 * @end: end of the bytes in @in
 * @before: bytes of the file before @in
 * @given: bytes of content so far
 * @barren: bytes consumed since the last content
 * @full: the last call filled its room, so there may be more content without input
 * @ended: the codec has seen the end of the content
 * @damage: what the codec found wrong in the last call, or NULL
 * @err: negative errno of all further calls, or 0
 * @why: text of the last error
 * @own: private data of the codec
 * @idle: see stream_on_idle(); NULL: nothing
 * @idle_ctx: its context
 * @ended_file: see stream_on_end(); NULL: nothing
 * @ended_ctx: its context
 */
struct stream {
	int fd;
	size_t window_max;
	const struct stream_codec *codec;
	bool known;
	bool eof;
	__u8 in[STREAM_IN_BYTES];
	size_t at;
	size_t end;
	__u64 before;
	__u64 given;
	__u64 barren;
	bool full;
	bool ended;
	const char *damage;
	int err;
	char why[STREAM_WHY_BYTES];
	void *own;
	void (*idle)(void *ctx);
	void *idle_ctx;
	int (*ended_file)(void *ctx, char *why, size_t room);
	void *ended_ctx;
};

/**
 * struct stream_codec - a format of compression
 * @open: make a decoder. Return: 0; -ENOMEM
 * @unpack: unpack from @in into @to of @room bytes, and move @at. It sets @ended at
 *	the end of the content, which it may know only when @eof is set, and reports
 *	damage with stream_damaged(). Return: bytes of content
 * @close: free the decoder
 */
struct stream_codec {
	int (*open)(struct stream *s);
	size_t (*unpack)(struct stream *s, void *to, size_t room);
	void (*close)(struct stream *s);
};

/* NULL if the library was missing at build time. */
extern const struct stream_codec stream_gzip __attribute__((weak));
extern const struct stream_codec stream_xz __attribute__((weak));
extern const struct stream_codec stream_zstd __attribute__((weak));

/* The data at the current offset is damaged. @why is the library's word for it, which is
 * valid until the codec is used again.
 */
void stream_damaged(struct stream *s, const char *why);

/* The data needs a longer window than the limit. @how unpacks it. */
void stream_too_wide(struct stream *s, const char *how);

void stream_no_memory(struct stream *s);

#endif /* RECORDS_CODEC_H */
