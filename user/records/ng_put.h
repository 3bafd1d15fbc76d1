/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of pcapng, made (IETF draft-ietf-opsawg-pcapng). */
#ifndef RECORDS_NG_PUT_H
#define RECORDS_NG_PUT_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

enum ng_type {
	NG_TYPE_SECTION = 0x0a0d0d0a, /* the same in either byte order */
	NG_TYPE_INTERFACE = 1,
	NG_TYPE_PACKET_OLD = 2,
	NG_TYPE_PACKET_SIMPLE = 3,
	NG_TYPE_PACKET = 6,
};

enum ng_option { NG_OPT_IF_TSRESOL = 9, NG_OPT_IF_TSOFFSET = 14 };

#define NG_ORDER 0x1a2b3c4d
#define NG_SECTION_BYTES 28
#define NG_INTERFACE_BYTES 32
#define NG_HEAD_BYTES (NG_SECTION_BYTES + NG_INTERFACE_BYTES)
#define NG_PACKET_HEAD_BYTES 28

/* Write to @to the NG_SECTION_BYTES of a section of unknown length. */
void ng_put_section(unsigned char *to);

/* Write to @to the NG_INTERFACE_BYTES that describe an interface. */
void ng_put_interface(unsigned char *to, __u32 link, __u32 snaplen, bool nano);

/* Write to @to the NG_HEAD_BYTES of blocks that begin a file with one interface. */
void ng_put_head(unsigned char *to, __u32 link, __u32 snaplen, bool nano);

/**
 * ng_put_packet() - make what precedes and follows the bytes of a packet
 * @to: out: NG_PACKET_HEAD_BYTES that precede them
 * @tail: out: up to 8 bytes that follow them
 * @iface: number of the interface, from 0
 * @ns: time stamp of the packet
 * @nano: the interface has time stamps in ns, otherwise in us
 * @captured: bytes of the packet
 * @length: on the wire
 *
 * Return: bytes of @tail.
 */
size_t ng_put_packet(unsigned char *to, unsigned char *tail, __u32 iface, __u64 ns, bool nano,
		     __u32 captured, __u32 length);

#endif /* RECORDS_NG_PUT_H */
