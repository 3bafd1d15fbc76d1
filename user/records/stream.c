// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/codec.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * struct packing - how a compressed file begins
 * @name: of the format
 * @package: that its codec needs
 * @codec: NULL: built without the package
 * @magic: first bytes, @len of them
 * @mask: the bits of these that count; NULL: all
 *
 * Sources: RFC 1952, section 2.3.1 (deflate is the only method; three flags are
 * reserved); The .xz File Format 1.2.0, section 2.1.1.1; RFC 8878, sections 3.1.1
 * and 3.1.2 (pzstd begins with a skippable frame).
 */
struct packing {
	const char *name;
	const char *package;
	const struct stream_codec *codec;
	const char *magic;
	const char *mask;
	size_t len;
};

static const struct packing packings[] = {
	{ "gzip", "zlib1g-dev", &stream_gzip, "\x1f\x8b\x08\0", "\xff\xff\xff\xe0", 4 },
	{ "xz", "liblzma-dev", &stream_xz,
	  "\xfd"
	  "7zXZ\0",
	  NULL, 6 },
	{ "zstd", "libzstd-dev", &stream_zstd, "\x28\xb5\x2f\xfd", NULL, 4 },
	{ "zstd", "libzstd-dev", &stream_zstd, "\x50\x2a\x4d\x18", "\xf0\xff\xff\xff", 4 },
};

#define MAGIC_BYTES 6 /* of the longest */
#define PACKINGS (sizeof(packings) / sizeof(packings[0]))

static int fault(struct stream *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fault(struct stream *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	s->err = err;
	return err;
}

void stream_damaged(struct stream *s, const char *why)
{
	s->damage = why;
}

void stream_too_wide(struct stream *s, const char *how)
{
	fault(s, -E2BIG,
	      "the %s data needs a window of more than %zu MiB: unpack it with '%s' into a pipe",
	      stream_packed(s), s->window_max >> 20, how);
}

void stream_no_memory(struct stream *s)
{
	fault(s, -ENOMEM, "out of memory");
}

struct stream *stream_open(int fd, size_t window_max)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = fd;
	s->window_max = window_max;
	return s;
}

void stream_close(struct stream *s)
{
	if (s && s->codec && s->own)
		s->codec->close(s);
	free(s);
}

const char *stream_why(const struct stream *s)
{
	return s->why;
}

const char *stream_packed(const struct stream *s)
{
	size_t i;

	for (i = 0; i < PACKINGS; i++)
		if (s->codec && packings[i].codec == s->codec)
			return packings[i].name;
	return NULL;
}

__u64 stream_taken(const struct stream *s)
{
	return s->before + s->at;
}

void stream_on_idle(struct stream *s, void (*idle)(void *ctx), void *ctx)
{
	s->idle = idle;
	s->idle_ctx = ctx;
}

void stream_on_end(struct stream *s, int (*end)(void *ctx, char *why, size_t room), void *ctx)
{
	s->ended_file = end;
	s->ended_ctx = ctx;
}

/* Return: 0: the end; a negative errno. */
static int end_file(struct stream *s)
{
	s->eof = true;
	if (s->ended_file)
		s->err = s->ended_file(s->ended_ctx, s->why, sizeof(s->why));
	s->ended_file = NULL;
	return s->err;
}

static bool would_wait(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return !poll(&p, 1, 0);
}

static ssize_t read_some(struct stream *s, void *to, size_t room)
{
	ssize_t n;
	int err;

	if (s->idle && would_wait(s->fd))
		s->idle(s->idle_ctx);
	n = read(s->fd, to, room);
	err = errno;
	if (!n)
		return end_file(s);
	if (n > 0)
		return n;
	snprintf(s->why, sizeof(s->why), "%s", strerror(err));
	return -err;
}

/* Read behind the bytes that are in @in. Return: 0; a negative errno. */
static int stream_fill(struct stream *s)
{
	ssize_t n;

	memmove(s->in, s->in + s->at, s->end - s->at);
	s->before += s->at;
	s->end -= s->at;
	s->at = 0;
	n = read_some(s, s->in + s->end, sizeof(s->in) - s->end);
	if (n < 0)
		return (int)n;
	s->end += (size_t)n;
	return 0;
}

/* Do the first @n bytes of the file agree with the format? */
static bool magic_fits(const struct packing *f, const __u8 *in, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < f->len; i++)
		if ((in[i] ^ (__u8)f->magic[i]) & (f->mask ? (__u8)f->mask[i] : 0xff))
			return false;
	return true;
}

/* The format with which the first @n bytes of a file agree; NULL: none. */
static const struct packing *packing_of(const __u8 *in, size_t n)
{
	size_t i;

	for (i = 0; i < PACKINGS; i++)
		if (magic_fits(&packings[i], in, n))
			return &packings[i];
	return NULL;
}

bool stream_begins_packed(int fd)
{
	__u8 head[MAGIC_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	const struct packing *f = n > 0 ? packing_of(head, (size_t)n) : NULL;

	return f && (size_t)n >= f->len;
}

static int open_codec(struct stream *s, const struct packing *f)
{
	int err;

	if (!f->codec)
		return fault(s, -EOPNOTSUPP, "built without %s: cannot read %s", f->package,
			     f->name);
	s->codec = f->codec;
	err = f->codec->open(s);
	if (err)
		return fault(s, err, "out of memory");
	return 0;
}

/* Read until it is certain whether the file is compressed. No more is read than that
 * takes, because a pipe may hold only one short line.
 */
static int stream_learn(struct stream *s)
{
	const struct packing *f = NULL;
	int err = 0;

	while (!s->eof && (!s->end || ((f = packing_of(s->in, s->end)) && s->end < f->len))) {
		err = stream_fill(s);
		if (err)
			return err;
	}
	f = s->end ? packing_of(s->in, s->end) : NULL;
	if (f && s->end >= f->len)
		err = open_codec(s, f);
	s->known = !err;
	return err;
}

static ssize_t read_plain(struct stream *s, void *to, size_t room)
{
	size_t held = s->end - s->at;
	ssize_t n;

	if (held) {
		n = (ssize_t)(held < room ? held : room);
		memcpy(to, s->in + s->at, (size_t)n);
		s->at += (size_t)n;
		return n;
	}
	n = read_some(s, to, room);
	if (n > 0)
		s->before += (__u64)n;
	return n;
}

/* Unpack what is there. Return: bytes; 0: more input is needed, or see @ended, @err. */
static size_t unpack(struct stream *s, void *to, size_t room)
{
	__u64 before = stream_taken(s);
	size_t n = s->codec->unpack(s, to, room);

	s->given += n;
	s->full = n == room;
	if (s->damage)
		fault(s, -EBADMSG,
		      "damaged %s data at byte %llu (%.60s), after %llu bytes of content",
		      stream_packed(s), stream_taken(s), s->damage, s->given);
	s->barren = n ? 0 : s->barren + stream_taken(s) - before;
	if (s->barren > STREAM_BARREN_MAX && !s->err)
		fault(s, -EBADMSG, "%u MiB of %s data before byte %llu unpack to nothing",
		      STREAM_BARREN_MAX >> 20, stream_packed(s), stream_taken(s));
	return n;
}

static ssize_t read_packed(struct stream *s, void *to, size_t room)
{
	size_t n = 0;
	int err;

	while (!s->err && !s->ended) {
		if (s->at == s->end && !s->full && !s->eof) {
			err = stream_fill(s);
			if (err)
				return err;
		}
		n = unpack(s, to, room);
		if (n)
			return (ssize_t)n;
		if (s->eof && s->at == s->end && !s->ended && !s->err)
			fault(s, -EBADMSG,
			      "cut off: the %s data ends inside a member at byte %llu, after %llu bytes of content",
			      stream_packed(s), stream_taken(s), s->given);
	}
	return s->err;
}

int stream_seek(struct stream *s, __u64 at)
{
	if (lseek(s->fd, (off_t)at, SEEK_SET) < 0) {
		snprintf(s->why, sizeof(s->why), "%s", strerror(errno));
		return -errno;
	}
	s->before = at;
	s->at = s->end = 0;
	s->eof = false;
	return 0;
}

ssize_t stream_read(struct stream *s, void *to, size_t room)
{
	int err = s->err;

	if (!room) /* a codec would wait for content that it cannot store */
		return err;
	if (!err && !s->known)
		err = stream_learn(s);
	if (err)
		return err;
	return s->codec ? read_packed(s, to, room) : read_plain(s, to, room);
}
