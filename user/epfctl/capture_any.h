/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures for duplicate removal, read item by item: pcap through libpcap and
 * pcapng through capture_ng.h. Other formats come as pcapng (records/wiretap.h). Either can
 * be written as it is or as the other.
 */
#ifndef EPFCTL_CAPTURE_ANY_H
#define EPFCTL_CAPTURE_ANY_H

#include <sys/stat.h>

#include "capture_ng.h"

/**
 * struct source - a capture being read
 * @stat: of the opened file
 * @why: text of the last error
 * @is_ng: it is pcapng
 * @header: pcap: header of a file with the same link type, snap length and precision
 * @link: LINKTYPE_* of the file (pcap) or of its first interface (pcapng)
 * @snaplen: of the file (pcap), or the largest so far of all interfaces and
 *	packets (pcapng)
 * @nano: time stamps are, or may be, finer than microseconds
 * @interfaces: number so far (pcapng); 1 (pcap)
 * @packets: so far
 * @pcap: reader, if the file is pcap
 * @ng: reader, if the file is pcapng
 * @block: the last pcapng block
 * @held: source_next() has not returned @block yet
 * @stream: the file's content
 * @child: prints it, if it is of another format; NULL: none
 * @fd: the file
 */
struct source {
	struct stat stat;
	char why[CAPTURE_WHY_BYTES];
	bool is_ng;
	unsigned char header[sizeof(struct pcap_file_header)];
	__u32 link;
	__u32 snaplen;
	bool nano;
	__u32 interfaces;
	__u64 packets;
	struct capture_in pcap;
	struct ng_in ng;
	struct ng_block block;
	bool held;
	struct stream *stream;
	struct child *child;
	int fd;
};

/**
 * struct item - a packet, or another block of a pcapng file
 * @is_packet: it is a packet
 * @data: bytes of the packet, valid until the next item is read
 * @captured: number of bytes at @data
 * @length: bytes on the wire
 * @link: LINKTYPE_*
 * @number: of the packet, from 1
 * @has_stamp: the packet has a time stamp
 * @has_ns: the time stamp is between 1970 and 2554
 * @ns: if @has_ns: the time stamp, ns since 1970
 * @record: of a packet from pcap: its header there
 * @raw: the packet with that header as they are in the file, valid until the function given
 *	to source_on_move() is called; NULL: they are not in memory in this form
 * @block: pcapng: the block; NULL: the input is pcap
 */
struct item {
	bool is_packet;
	const unsigned char *data;
	__u32 captured;
	__u32 length;
	__u32 link;
	__u64 number;
	bool has_stamp;
	bool has_ns;
	__u64 ns;
	struct capture_record record;
	const unsigned char *raw;
	const struct ng_block *block;
};

/**
 * source_open() - open a capture for reading
 * @s: result; @why is set on error
 * @path: file, or "-" for standard input
 *
 * Return: 0 or -1; after -1 nothing is left open.
 */
int source_open(struct source *s, const char *path);
void source_close(struct source *s);

/* Return: 1; 0 at the end; -1 if the file is cut off or damaged (@s->why). */
int source_next(struct source *s, struct item *item);

/* What is to be said of a capture that was read to its end; "": nothing. */
const char *source_note(const struct source *s);

/* Call @move with @ctx before what an item's @raw pointed to is moved. */
void source_on_move(struct source *s, void (*move)(void *ctx), void *ctx);

/* Bytes of the file that were read so far, and its size; 0: unknown. */
__u64 source_done_bytes(const struct source *s);
__u64 source_all_bytes(const struct source *s);

/* Is the file compressed? Then its content is longer than the file. */
bool source_packed(const struct source *s);

/* enum epf_pkt_link of a LINKTYPE_*; -1: this link type supports only the frame key. */
int link_of(__u32 link);
const char *link_name(__u32 link);
/* The snap length of a LINKTYPE_* that means "all": readers refuse larger
 * packets.
 */
__u32 snaplen_of_all(__u32 link);

#endif /* EPFCTL_CAPTURE_ANY_H */
