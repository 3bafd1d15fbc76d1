// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "capture_ng.h"

#include <stdlib.h>
#include <string.h>

#define READ_BYTES (256u << 10)
#define BLOCK_MIN 12
#define BLOCK_MAX (16u << 20) /* a longer block counts as damage */
#define IFS_MAX (1u << 16)
#define NS_PER_S 1000000000ULL

static __u32 get16(const struct ng_in *in, const unsigned char *p)
{
	return in->big ? p[0] << 8 | p[1] : p[1] << 8 | p[0];
}

static __u32 get32(const struct ng_in *in, const unsigned char *p)
{
	return in->big ? get16(in, p) << 16 | get16(in, p + 2) :
			 get16(in, p + 2) << 16 | get16(in, p);
}

static __u64 get64(const struct ng_in *in, const unsigned char *p)
{
	__u64 a = get32(in, p), b = get32(in, p + 4);

	return in->big ? a << 32 | b : b << 32 | a;
}

bool ng_is(const unsigned char *head, size_t len)
{
	static const unsigned char magic[] = { 0x0a, 0x0d, 0x0d, 0x0a };

	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

int ng_open(struct ng_in *in, struct stream *stream, const unsigned char *head, size_t len)
{
	memset(in, 0, sizeof(*in));
	in->room = malloc(READ_BYTES);
	if (!in->room)
		return -1;
	in->room_bytes = READ_BYTES;
	memcpy(in->room, head, len);
	in->end = in->done_bytes = len;
	in->stream = stream;
	return 0;
}

void ng_close(struct ng_in *in)
{
	free(in->room);
	free(in->ifs);
	in->room = NULL;
	in->ifs = NULL;
}

static int capture_ng_bad(struct ng_in *in, const char *why)
{
	in->why = why;
	return -1;
}

/* Make room for @bytes from @at on. */
static int capture_ng_make_room(struct ng_in *in, size_t bytes)
{
	unsigned char *room = in->room;

	memmove(room, room + in->at, in->end - in->at);
	in->end -= in->at;
	in->at = 0;
	if (bytes <= in->room_bytes)
		return 0;
	room = realloc(room, bytes);
	if (!room)
		return capture_ng_bad(in, "out of memory");
	in->room = room;
	in->room_bytes = bytes;
	return 0;
}

/* Read until there are @bytes from @at on. Return: 1; 0: end of file; -1: an error. */
static int have(struct ng_in *in, size_t bytes)
{
	ssize_t n;

	if (in->end - in->at >= bytes)
		return 1;
	if (capture_ng_make_room(in, bytes))
		return -1;
	while (in->end < bytes) {
		n = stream_read(in->stream, in->room + in->end, in->room_bytes - in->end);
		if (n < 0)
			return capture_ng_bad(in, stream_why(in->stream));
		if (!n)
			return 0;
		in->end += n;
		in->done_bytes += n;
	}
	return 1;
}

/* Type and length of the block at @at, which has at least BLOCK_MIN bytes. A section also
 * sets the byte order.
 */
static int block_head(struct ng_in *in, __u32 *type, __u32 *len)
{
	const unsigned char *p = in->room + in->at;

	*type = get32(in, p);
	if (*type == NG_TYPE_SECTION) {
		in->big = false;
		if (get32(in, p + 8) != NG_ORDER)
			in->big = true;
		if (get32(in, p + 8) != NG_ORDER)
			return capture_ng_bad(in, "a section has no byte order");
		in->nr_ifs = 0;
	}
	*len = get32(in, p + 4);
	if (*len < BLOCK_MIN || *len % 4 || *len > BLOCK_MAX)
		return capture_ng_bad(in, "a block has an impossible length");
	return 0;
}

/* Walk the options from @p to @end. @iface takes the options of an interface, or is NULL.
 * Return: true: there are options that pcap has no room for.
 */
static bool take_options(const struct ng_in *in, const unsigned char *p, const unsigned char *end,
			 struct ng_if *iface)
{
	bool others = false;

	while (end - p >= 4) {
		__u32 code = get16(in, p);
		__u32 len = get16(in, p + 2);

		p += 4;
		if (!code || len > (size_t)(end - p))
			break;
		if (iface && code == NG_OPT_IF_TSRESOL && len >= 1)
			iface->tsresol = p[0];
		else if (iface && code == NG_OPT_IF_TSOFFSET && len >= 8)
			iface->offset_s = (__s64)get64(in, p);
		else
			others = true;
		p += len;
		p += (size_t)(end - p) < (-len & 3) ? end - p : -len & 3;
	}
	return others;
}

static int take_section(struct ng_in *in, struct ng_block *b)
{
	b->kind = NG_IS_SECTION;
	if (b->len < 28)
		return capture_ng_bad(in, "a section header is too short");
	if (get16(in, b->bytes + 12) != 1)
		return capture_ng_bad(in, "a section has a version other than 1");
	b->options = take_options(in, b->bytes + 24, b->bytes + b->len - 4, NULL);
	return 1;
}

static int more_ifs(struct ng_in *in)
{
	__u32 room = in->if_room ? 2 * in->if_room : 8;
	struct ng_if *ifs;

	if (in->nr_ifs == IFS_MAX)
		return capture_ng_bad(in, "a section has more than 65536 interfaces");
	ifs = realloc(in->ifs, room * sizeof(*ifs));
	if (!ifs)
		return capture_ng_bad(in, "out of memory");
	in->ifs = ifs;
	in->if_room = room;
	return 0;
}

static int take_interface(struct ng_in *in, struct ng_block *b)
{
	struct ng_if *i;

	if (b->len < 20)
		return capture_ng_bad(in, "the description of an interface is too short");
	if ((in->nr_ifs == in->if_room || in->nr_ifs == IFS_MAX) && more_ifs(in))
		return -1;
	i = &in->ifs[in->nr_ifs++];
	*i = (struct ng_if){ .link = get16(in, b->bytes + 8),
			     .snaplen = get32(in, b->bytes + 12),
			     .tsresol = 6 };
	b->kind = NG_IS_INTERFACE;
	b->iface = i;
	b->options = take_options(in, b->bytes + 16, b->bytes + b->len - 4, i);
	return 1;
}

/* The stamp in whole ns. Return: false: it does not fit. */
static bool to_ns(const struct ng_if *i, __u64 stamp, __u64 *to)
{
	unsigned int n = i->tsresol & 0x7f;
	unsigned __int128 ns = (unsigned __int128)stamp * NS_PER_S;

	if (i->tsresol & 0x80) {
		ns >>= n;
	} else {
		for (; n && ns; n--)
			ns /= 10;
	}
	ns += (unsigned __int128)((__int128)i->offset_s * NS_PER_S);
	*to = (__u64)ns;
	return ns == *to;
}

bool ng_is_nano(const struct ng_if *i)
{
	return i->tsresol & 0x80 ? (i->tsresol & 0x7f) > 19 : i->tsresol > 6;
}

/* A packet with a stamp. Its lengths and bytes begin at 20. */
static int take_packet(struct ng_in *in, struct ng_block *b, __u32 id)
{
	const unsigned char *p = b->bytes;

	b->kind = NG_IS_PACKET;
	if (b->len < 32)
		return capture_ng_bad(in, "the block of a packet is too short");
	if (id >= in->nr_ifs)
		return capture_ng_bad(in, "a packet belongs to an interface that is not described");
	b->captured = get32(in, p + 20);
	b->length = get32(in, p + 24);
	if (b->captured > b->len - 32)
		return capture_ng_bad(in, "a packet is longer than its block");
	b->data = p + 28;
	b->iface = &in->ifs[id];
	b->has_stamp = true;
	b->has_ns = to_ns(b->iface, (__u64)get32(in, p + 12) << 32 | get32(in, p + 16), &b->ns);
	/* lengths are multiples of 4, so the padding is inside the block */
	b->options = take_options(in, b->data + (b->captured + 3) / 4 * 4, p + b->len - 4, NULL);
	return 1;
}

static int take_simple(struct ng_in *in, struct ng_block *b)
{
	b->kind = NG_IS_PACKET;
	if (b->len < 16)
		return capture_ng_bad(in, "the block of a packet is too short");
	if (!in->nr_ifs)
		return capture_ng_bad(in, "a packet belongs to an interface that is not described");
	b->iface = &in->ifs[0];
	b->length = get32(in, b->bytes + 8);
	b->captured = b->length;
	if (b->iface->snaplen && b->captured > b->iface->snaplen)
		b->captured = b->iface->snaplen;
	if (b->captured > b->len - 16)
		return capture_ng_bad(in, "a packet is longer than its block");
	b->data = b->bytes + 12;
	return 1;
}

static int take_block(struct ng_in *in, __u32 type, struct ng_block *b)
{
	switch (type) {
	case NG_TYPE_SECTION:
		return take_section(in, b);
	case NG_TYPE_INTERFACE:
		return take_interface(in, b);
	case NG_TYPE_PACKET:
		return b->len < 12 + 4 ? capture_ng_bad(in, "the block of a packet is too short") :
					 take_packet(in, b, get32(in, b->bytes + 8));
	case NG_TYPE_PACKET_OLD:
		return b->len < 12 + 4 ? capture_ng_bad(in, "the block of a packet is too short") :
					 take_packet(in, b, get16(in, b->bytes + 8));
	case NG_TYPE_PACKET_SIMPLE:
		return take_simple(in, b);
	}
	b->kind = NG_IS_OTHER;
	return 1;
}

int ng_next(struct ng_in *in, struct ng_block *b)
{
	__u32 type, len;
	int got = have(in, BLOCK_MIN);

	memset(b, 0, sizeof(*b));
	if (got < 0 || (!got && in->end == in->at))
		return got;
	if (!got)
		return capture_ng_bad(in, "it ends inside a block");
	if (block_head(in, &type, &len))
		return -1;
	got = have(in, len);
	if (got <= 0)
		return got ? got : capture_ng_bad(in, "it ends inside a block");
	b->bytes = in->room + in->at;
	b->len = len;
	if (get32(in, b->bytes + len - 4) != len)
		return capture_ng_bad(in, "a block has two different lengths");
	in->at += len;
	return take_block(in, type, b);
}
