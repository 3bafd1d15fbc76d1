/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pcapng, block by block (IETF draft-ietf-opsawg-pcapng). A block is handed out
 * as it lies in the file, so that what is not taken out can be copied bit by
 * bit: comments, names, options and blocks that nobody knows here.
 */
#ifndef EPFCTL_CAPTURE_NG_H
#define EPFCTL_CAPTURE_NG_H

#include "audit/capture.h"

enum ng_kind { NG_IS_SECTION, NG_IS_INTERFACE, NG_IS_PACKET, NG_IS_OTHER };

/**
 * struct ng_if - an interface of the section
 * @link: LINKTYPE_*
 * @snaplen: bytes captured of a packet at most; 0: all
 * @tsresol: stamps in units of 10^-n s, with the high bit set of 2^-n s
 * @offset_s: seconds to add to them
 */
struct ng_if {
	__u32 link;
	__u32 snaplen;
	__u8 tsresol;
	__s64 offset_s;
};

/**
 * struct ng_block - a block
 * @bytes: it, good until the next one is read
 * @len: bytes
 * @kind: what it is
 * @options: it has some that pcap has no room for
 * @iface: of a packet; of an interface, what it says
 * @has_stamp: the packet has one
 * @has_ns: it is between 1970 and 2554
 * @ns: then: it, since 1970
 * @data: of the packet, inside of @bytes
 * @captured: bytes of it there
 * @length: on the wire
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
 * @fd: the file, which is the caller's
 * @room: what was read of it, @room_bytes long
 * @at: where in it the next block begins
 * @end: where it ends
 * @big: byte order of the section
 * @ifs: interfaces of the section
 * @nr_ifs: how many
 * @if_room: how many @ifs has room for
 * @done_bytes: taken from the file so far
 * @why: the last error
 */
struct ng_in {
	int fd;
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

/* Is this how pcapng begins? */
bool ng_is(const unsigned char *head, size_t len);

/* Begin at @head, which was read already. Return: 0, or -1: no memory. */
int ng_open(struct ng_in *in, int fd, const unsigned char *head, size_t len);
void ng_close(struct ng_in *in);

/* Return: 1; 0 at the end; -1 where the file is cut off or damaged (@in->why). */
int ng_next(struct ng_in *in, struct ng_block *block);

/* Are stamps of the interface finer than us? */
bool ng_is_nano(const struct ng_if *iface);

#define NG_HEAD_BYTES 60
#define NG_PACKET_HEAD_BYTES 28

/* The blocks that begin a file of one interface, NG_HEAD_BYTES at @to. */
void ng_put_head(unsigned char *to, __u32 link, __u32 snaplen, bool nano);

/**
 * ng_put_packet() - what is before and behind the bytes of a packet
 * @to: NG_PACKET_HEAD_BYTES before them
 * @tail: 8 bytes at most behind them
 * @ns: its stamp
 * @nano: of an interface with stamps in ns, else in us
 * @captured: bytes of the packet
 * @length: on the wire
 *
 * Return: bytes of @tail.
 */
size_t ng_put_packet(unsigned char *to, unsigned char *tail, __u64 ns,
		     bool nano, __u32 captured, __u32 length);

#endif /* EPFCTL_CAPTURE_NG_H */
