/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pcapng, block by block (IETF draft-ietf-opsawg-pcapng). Each block
 * is returned exactly as in the file, so that everything that is kept can be
 * copied bit by bit: comments, names, options and unknown blocks.
 */
#ifndef EPFCTL_CAPTURE_NG_H
#define EPFCTL_CAPTURE_NG_H

#include "records/capture.h"
#include "records/ng_put.h"

enum ng_kind { NG_IS_SECTION, NG_IS_INTERFACE, NG_IS_PACKET, NG_IS_OTHER };

/**
 * struct ng_if - an interface of the section
 * @link: LINKTYPE_*
 * @snaplen: bytes captured of a packet at most; 0: all
 * @tsresol: n: time stamps are in units of 10^-n s, or of 2^-n s if the high bit
 *	is set
 * @offset_s: seconds to add to the time stamps
 */
struct ng_if {
	__u32 link;
	__u32 snaplen;
	__u8 tsresol;
	__s64 offset_s;
};

/**
 * struct ng_block - a block
 * @bytes: the block, valid until the next one is read
 * @len: length of the block in bytes
 * @kind: type of the block
 * @options: it has options that pcap cannot express
 * @iface: the interface of a packet, or the one that the block describes
 * @has_stamp: the packet has a time stamp
 * @has_ns: the time stamp is between 1970 and 2554
 * @ns: if @has_ns: the time stamp, ns since 1970
 * @data: the packet, inside @bytes
 * @captured: bytes of the packet at @data
 * @length: bytes on the wire
 */
struct ng_block {
	const unsigned char *bytes;
	__u32 len;
	enum ng_kind kind;
	bool options;
	const struct ng_if *iface;
	bool has_stamp;
	bool has_ns;
	__u64 ns;
	const unsigned char *data;
	__u32 captured;
	__u32 length;
};

/**
 * struct ng_in - a pcapng file being read
 * @stream: the file, owned by the caller
 * @room: read buffer of @room_bytes
 * @at: offset in @room of the next block
 * @end: offset in @room of the end of the data
 * @big: the section is big-endian
 * @ifs: interfaces of the section
 * @nr_ifs: number of interfaces
 * @if_room: capacity of @ifs
 * @done_bytes: bytes read from the file so far
 * @why: the last error
 */
struct ng_in {
	struct stream *stream;
	unsigned char *room;
	size_t room_bytes;
	size_t at;
	size_t end;
	bool big;
	struct ng_if *ifs;
	__u32 nr_ifs;
	__u32 if_room;
	__u64 done_bytes;
	const char *why;
};

/* Do the first @len bytes of a file, @head, mark it as pcapng? */
bool ng_is(const unsigned char *head, size_t len);

/* Start reading. @head: the bytes read already. Return: 0, or -1: no memory. */
int ng_open(struct ng_in *in, struct stream *stream, const unsigned char *head, size_t len);
void ng_close(struct ng_in *in);

/* Return: 1; 0 at the end; -1 if the file is cut off or damaged (@in->why). */
int ng_next(struct ng_in *in, struct ng_block *block);

/* Are time stamps of the interface finer than microseconds? */
bool ng_is_nano(const struct ng_if *iface);

#endif /* EPFCTL_CAPTURE_NG_H */
