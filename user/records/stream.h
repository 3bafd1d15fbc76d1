/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The content of a file: its bytes or, if the file begins like one of gzip, xz or
 * zstd, what they unpack to. A file may have several compressed members, one after
 * another, of one format. Everything is read once and in order, so pipes work too.
 *
 * What was unpacked before damage is read before the error is reported.
 */
#ifndef RECORDS_STREAM_H
#define RECORDS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <linux/types.h>

struct stream;

/* The longest window that zstd unpacks without an option; xz -9 needs half of it. */
#define STREAM_WINDOW_MAX (128u << 20)
/* A limit for many streams at once: xz -6 and zstd -19 have this window. */
#define STREAM_WINDOW_SMALL (8u << 20)
/* A limit that refuses compressed data, except for that of gzip, whose window is small. */
#define STREAM_WINDOW_LEAST (1u << 10)
/* The memory of a stream in addition to its window. */
#define STREAM_MEMORY (2u << 20)
/* Limit of successive bytes of a file that unpack to nothing, such as empty members. */
#define STREAM_BARREN_MAX (16u << 20)
/* Room for the text of an error. */
#define STREAM_WHY_BYTES 192

/**
 * stream_open() - begin to read a file
 * @fd: positioned at the beginning; the caller owns it and keeps it open until
 *	stream_close()
 * @window_max: compressed data with a longer window, in bytes, is refused
 *
 * Nothing is read yet.
 *
 * Return: the stream; NULL: no memory.
 */
struct stream *stream_open(int fd, size_t window_max);
void stream_close(struct stream *s); /* @s may be NULL */

/* Read from offset @at of a regular file that is not compressed. Return: 0; -errno of lseek(). */
int stream_seek(struct stream *s, __u64 at);

/**
 * stream_on_idle() - say what to do before waiting for input
 * @s: stream
 * @idle: called with @ctx whenever a read of the file would block
 * @ctx: context
 */
void stream_on_idle(struct stream *s, void (*idle)(void *ctx), void *ctx);

/**
 * stream_on_end() - say what decides whether the file has ended well
 * @s: stream
 * @end: called with @ctx once, at the end of the file. It returns 0, or -EBADMSG, which
 *	then is the error of the stream, with its text in @why
 * @ctx: context
 */
void stream_on_end(struct stream *s, int (*end)(void *ctx, char *why, size_t room), void *ctx);

/**
 * stream_read() - read content
 * @s: stream
 * @to: memory
 * @room: bytes of @to; with 0 nothing is read
 *
 * Return: bytes; 0: the end of the content, or no room; -EBADMSG: the compressed data is damaged
 * or cut off, or see stream_on_end(); -E2BIG: its window is too long; -EOPNOTSUPP: built
 * without the library; -ENOMEM; an errno of read(). An error other than one of read() is
 * returned by all later calls as well.
 */
ssize_t stream_read(struct stream *s, void *to, size_t room);

/* The text of the last error, with the offset in the file for damage, or what
 * stream_on_end() has to say of a good end; one line.
 */
const char *stream_why(const struct stream *s);

/* Does a regular file begin like compressed data? Its position does not matter, and
 * stays.
 */
bool stream_begins_packed(int fd);

/* "gzip", "xz" or "zstd"; NULL: not compressed, or nothing was read yet. */
const char *stream_packed(const struct stream *s);

/* Bytes of the file that were read or unpacked so far. */
__u64 stream_taken(const struct stream *s);

#endif /* RECORDS_STREAM_H */
