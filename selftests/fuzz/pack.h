/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packed files: "PACK", how, and where it is damaged, then what is packed. Without "PACK" an
 * input is the file itself.
 */
#ifndef EPF_FUZZ_PACK_H
#define EPF_FUZZ_PACK_H

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "fuzz.h"

enum pack_how {
	PACK_GZIP = 1,
	PACK_XZ = 2,
	PACK_ZSTD = 3,
	PACK_CODEC = 3,
	PACK_TWO = 4,    /* members, or frames */
	PACK_EMPTY = 8,  /* a member of nothing at the end */
	PACK_SKIP = 16,  /* a frame to skip, padding */
	PACK_CRC64 = 32, /* xz */
	PACK_FLIP = 64,  /* damage: a bit */
	PACK_CUT = 128,  /* damage: the end is missing */
};

#define PACK_MARK "PACK"

static inline size_t pack_gzip(__u8 *to, size_t room, const __u8 *p, size_t n)
{
	z_stream z = { .next_in = (__u8 *)(uintptr_t)p, .avail_in = (unsigned int)n };

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	z.next_out = to;
	z.avail_out = (unsigned int)room;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	deflateEnd(&z);
	return room - z.avail_out;
}

static inline size_t pack_xz(__u8 *to, size_t room, const __u8 *p, size_t n, __u8 how)
{
	lzma_check check = how & PACK_CRC64 ? LZMA_CHECK_CRC64 : LZMA_CHECK_CRC32;
	size_t used = 0;

	if (lzma_easy_buffer_encode(0, check, NULL, p, n, to, &used, room) != LZMA_OK)
		abort();
	return used;
}

static inline size_t pack_zstd(__u8 *to, size_t room, const __u8 *p, size_t n)
{
	size_t used = ZSTD_compress(to, room, p, n, 1);

	if (ZSTD_isError(used))
		abort();
	return used;
}

/* Return: bytes of one member. */
static inline size_t pack_member(__u8 *to, size_t room, const __u8 *p, size_t n, __u8 how)
{
	switch (how & PACK_CODEC) {
	case PACK_GZIP:
		return pack_gzip(to, room, p, n);
	case PACK_XZ:
		return pack_xz(to, room, p, n, how);
	default:
		return pack_zstd(to, room, p, n);
	}
}

/* What a reader has to skip: behind a member in xz, before one in zstd. */
static inline size_t pack_skip(__u8 *to, __u8 how)
{
	static const __u8 frame[] = { 0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c' };

	if ((how & PACK_CODEC) == PACK_GZIP || !(how & PACK_SKIP))
		return 0;
	if ((how & PACK_CODEC) == PACK_XZ) {
		memset(to, 0, 8);
		return 8;
	}
	memcpy(to, frame, sizeof(frame));
	return sizeof(frame);
}

static inline size_t pack_damage(__u8 *to, size_t n, __u8 how, __u8 where)
{
	size_t at = n * where / 256;

	if (how & PACK_FLIP)
		to[at] ^= 4;
	return how & PACK_CUT ? at : n;
}

/**
 * pack_rest() - take the file of an input
 * @in: the rest of it is used up
 * @to: the file
 * @room: as long as three times the input, and 4096 bytes
 *
 * Return: its length.
 */
static inline size_t pack_rest(struct input *in, __u8 *to, size_t room)
{
	size_t first, used = 0, n = in->left;
	const __u8 *p = in->p;
	__u8 how, where;

	in->left = 0;
	if (n < sizeof(PACK_MARK) + 1 || memcmp(p, PACK_MARK, 4) || !(p[4] & PACK_CODEC)) {
		if (n)
			memcpy(to, p, n);
		return n;
	}
	how = p[4];
	where = p[5];
	p += 6;
	n -= 6;
	first = how & PACK_TWO ? n / 2 : n;
	if ((how & PACK_CODEC) == PACK_ZSTD)
		used += pack_skip(to, how);
	used += pack_member(to + used, room - used, p, first, how);
	if ((how & PACK_CODEC) == PACK_XZ)
		used += pack_skip(to + used, how);
	if (how & PACK_TWO)
		used += pack_member(to + used, room - used, p + first, n - first, how);
	if (how & PACK_EMPTY)
		used += pack_member(to + used, room - used, p, 0, how);
	return pack_damage(to, used, how, where);
}

#endif /* EPF_FUZZ_PACK_H */
