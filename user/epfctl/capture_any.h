/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Captures for duplicate removal: read item by item, pcap through libpcap and
 * pcapng by capture_ng.h, each as it is or as the other.
 */
#ifndef EPFCTL_CAPTURE_ANY_H
#define EPFCTL_CAPTURE_ANY_H

#include "capture_ng.h"

/**
 * struct source - a capture being read
 * @stat: of the opened file
 * @why: text of the last error
 * @is_ng: it is pcapng
 * @link: LINKTYPE_* of pcap; of pcapng, of the first interface
 * @snaplen: of pcap; of pcapng, the largest so far of interfaces and packets
 * @nano: stamps are finer than us, or may be
 * @interfaces: of pcapng, so far; of pcap one
 * @packets: so far
 * @pcap: where it is pcap
 * @ng: where it is pcapng
 * @first: its first block, until it was handed out
 * @fd: the file
 */
struct source {
	struct stat stat;
	char why[CAPTURE_WHY_BYTES];
	bool is_ng;
	__u32 link;
	__u32 snaplen;
	bool nano;
	__u32 interfaces;
	__u64 packets;
	struct capture_in pcap;
	struct ng_in ng;
	struct ng_block first;
	int fd;
};

/**
 * struct item - a packet, or another block of a pcapng file
 * @is_packet: which of them
 * @data: bytes of the packet, good until the next item
 * @captured: how many
 * @length: on the wire
 * @link: LINKTYPE_*
 * @number: of the packet, from 1
 * @has_stamp: it has a time stamp
 * @has_ns: which is between 1970 and 2554
 * @ns: then: it, since 1970
 * @record: header of the packet in pcap, which is written as it is
 * @block: of pcapng
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
	struct ng_block block;
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

/* Return: 1; 0 at the end; -1 where the file is cut off or damaged (@s->why). */
int source_next(struct source *s, struct item *item);

/* Bytes taken from the file so far, and of all of it; 0: not known. */
__u64 source_done_bytes(const struct source *s);
__u64 source_all_bytes(const struct source *s);

/* enum epf_pkt_link of a LINKTYPE_*; -1: one that only a frame key works on. */
int link_of(__u32 link);
const char *link_name(__u32 link);
/* The snap length of a LINKTYPE_* that means "all": readers refuse larger
 * packets.
 */
__u32 snaplen_of_all(__u32 link);

#endif /* EPFCTL_CAPTURE_ANY_H */
