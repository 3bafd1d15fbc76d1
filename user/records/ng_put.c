// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/ng_put.h"

#include <string.h>

static size_t put32(unsigned char *to, __u32 v)
{
	memcpy(to, &v, 4);
	return 4;
}

static size_t put16(unsigned char *to, __u32 v)
{
	__u16 half = (__u16)v;

	memcpy(to, &half, 2);
	return 2;
}

void ng_put_interface(unsigned char *to, __u32 link, __u32 snaplen, bool nano)
{
	size_t n = put32(to, NG_TYPE_INTERFACE);

	n += put32(to + n, NG_INTERFACE_BYTES);
	n += put16(to + n, link);
	n += put16(to + n, 0);
	n += put32(to + n, snaplen);
	n += put16(to + n, NG_OPT_IF_TSRESOL);
	n += put16(to + n, 1);
	n += put32(to + n, 0);
	to[n - 4] = nano ? 9 : 6;
	n += put32(to + n, 0); /* the end of the options */
	put32(to + n, NG_INTERFACE_BYTES);
}

void ng_put_section(unsigned char *to)
{
	size_t n = put32(to, NG_TYPE_SECTION);

	n += put32(to + n, NG_SECTION_BYTES);
	n += put32(to + n, NG_ORDER);
	n += put16(to + n, 1);
	n += put16(to + n, 0);
	n += put32(to + n, ~0u);
	n += put32(to + n, ~0u);
	put32(to + n, NG_SECTION_BYTES);
}

void ng_put_head(unsigned char *to, __u32 link, __u32 snaplen, bool nano)
{
	ng_put_section(to);
	ng_put_interface(to + NG_SECTION_BYTES, link, snaplen, nano);
}

size_t ng_put_packet(unsigned char *to, unsigned char *tail, __u32 iface, __u64 ns, bool nano,
		     __u32 captured, __u32 length)
{
	__u64 stamp = nano ? ns : ns / 1000;
	size_t pad = -captured & 3;
	__u32 len = (__u32)(NG_PACKET_HEAD_BYTES + captured + pad + 4);
	size_t n = put32(to, NG_TYPE_PACKET);

	n += put32(to + n, len);
	n += put32(to + n, iface);
	n += put32(to + n, (__u32)(stamp >> 32));
	n += put32(to + n, (__u32)stamp);
	n += put32(to + n, captured);
	put32(to + n, length);
	memset(tail, 0, pad);
	return pad + put32(tail + pad, len);
}
