/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading captures: pcap and pcapng. Error texts do not include the file name. */
#ifndef RECORDS_CAPTURE_H
#define RECORDS_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>

#include <linux/types.h>
#include <pcap/pcap.h>

#include "records/stream.h"

#define CAPTURE_HEAD_BYTES 4096
#define CAPTURE_WHY_BYTES (PCAP_ERRBUF_SIZE + 128)

/**
 * struct ng_feed - the blocks of a pcapng file that are passed to libpcap: sections,
 *	interfaces and packets. All other blocks, of which there may be any number,
 *	are skipped here
 * @on: the input is pcapng
 * @ended: libpcap gets what is queued, then the end of the file
 * @big: the section is big-endian
 * @wanted: the current block is passed to libpcap
 * @head: beginning of the block: type, length and, in a section header, byte order
 * @have: bytes of @head read so far
 * @left: bytes of the block not read yet, including its second length
 * @tail: last four bytes of a skipped block
 * @interfaces: interfaces of the section so far; libpcap remembers each
 * @packets: packets queued, completely or in part
 * @taken: packets that libpcap has returned
 * @opened: an interface was queued, so libpcap can open the file
 * @queue: bytes for libpcap
 * @at: offset of the first queued byte that libpcap has not read
 * @end: end of the queued bytes
 * @room: bytes allocated for @queue
 * @raw: buffer for read()
 * @fault: what is wrong with the file, or NULL
 * @error: errno of read(), or 0
 */
struct ng_feed {
	bool on;
	bool ended;
	bool big;
	bool wanted;
	unsigned char head[12];
	__u32 have;
	__u32 left;
	unsigned char tail[4];
	__u32 interfaces;
	__u64 packets;
	__u64 taken;
	bool opened;
	unsigned char *queue;
	size_t at;
	size_t end;
	size_t room;
	unsigned char *raw;
	const char *fault;
	int error;
};

/**
 * struct plain_feed - records of a pcap file in the byte order of this machine, used where
 *	they are read to. libpcap gets the file's header, and everything from the first
 *	record on that is not there as a whole or longer than any may be
 * @on: the next record is looked for here
 * @header: bytes of the file's header that libpcap has not read
 * @buffer: PLAIN_ROOM bytes
 * @at: offset of the next record
 * @end: end of what was read
 * @error: errno of read(), for libpcap; or 0
 * @longest: captured bytes of a packet at most, of the link type or of the file's header
 * @hdr: header of the last packet
 * @move: called with @ctx before records that were returned are moved or overwritten; or
 *	NULL
 * @ctx: context
 */
struct plain_feed {
	bool on;
	__u32 header;
	unsigned char *buffer;
	size_t at;
	size_t end;
	int error;
	__u32 longest;
	struct pcap_pkthdr hdr;
	void (*move)(void *ctx);
	void *ctx;
};

/**
 * struct capture_in - a capture being read
 * @pcap: libpcap's handle
 * @nano: time stamps are in ns, else in us
 * @snaplen: of the file's header. Packets may be longer, and are given whole
 * @done_bytes: bytes of content read so far
 * @why: text of the last error
 * @stream: the file
 * @failed: reading @stream failed
 * @buffer: buffer of the stream that libpcap reads; NULL: the stream's own
 * @head: beginning of the file, read ahead to learn the precision of time stamps
 * @head_len: bytes in @head
 * @head_at: bytes of @head that were passed on
 * @feed: state of a pcapng file
 * @plain: state of a plain pcap file
 */
struct capture_in {
	pcap_t *pcap;
	bool nano;
	__u32 snaplen;
	__u64 done_bytes;
	char why[CAPTURE_WHY_BYTES];
	struct stream *stream;
	bool failed;
	char *buffer;
	unsigned char head[CAPTURE_HEAD_BYTES];
	size_t head_len;
	size_t head_at;
	struct ng_feed feed;
	struct plain_feed plain;
};

/**
 * capture_attach() - begin to read a capture
 * @in: result; @why is set on error
 * @stream: the file, which the caller owns and keeps open until capture_close()
 * @head: its first bytes, which were already read
 * @len: how many, at most CAPTURE_HEAD_BYTES
 *
 * Return: 0 or -1; after -1 there is nothing to close.
 */
int capture_attach(struct capture_in *in, struct stream *stream, const void *head, size_t len);
void capture_close(struct capture_in *in);

/**
 * capture_ready() - look for the next packet, within a bound
 * @in: capture
 * @bytes: approximate limit of the bytes read
 *
 * A pcapng file may have any number of blocks between two packets.
 *
 * Return: true: capture_next() reads no more than a packet; false: call it again.
 */
bool capture_ready(struct capture_in *in, size_t bytes);

/**
 * capture_next() - the next packet
 * @in: capture
 * @hdr: set; the fraction of the time stamp is in ns where @in->nano
 * @data: set; both are valid until the next call
 *
 * Return: 1; 0: end of the file; -1: the file is cut off or damaged (@why).
 */
int capture_next(struct capture_in *in, struct pcap_pkthdr **hdr, const unsigned char **data);

/* Return: enum epf_pkt_link; -1: a link type that only frame keys support. */
int capture_link(const struct capture_in *in);
const char *capture_link_name(const struct capture_in *in);

/* Write a savefile header with the link type and precision of @like, and the largest snap length of
 * that type. Return: 0; -1.
 */
int capture_header(FILE *stream, const struct capture_in *like);

/* The header of a packet in a savefile. */
struct capture_record {
	__u32 sec;
	__u32 frac; /* us, or ns */
	__u32 captured;
	__u32 length;
};

struct capture_record capture_record(const struct pcap_pkthdr *hdr);

/* Time stamp in ns since 1970. Both numbers count as unsigned. */
static inline __u64 capture_ns(const struct capture_in *in, const struct capture_record *rec)
{
	return (__u64)rec->sec * 1000000000 + (__u64)rec->frac * (in->nano ? 1 : 1000);
}

/**
 * capture_raw() - the next packet as it is in the file
 * @in: capture
 * @rec: set to its header
 *
 * Return: the header and behind it the bytes of the packet. They stay where they are until
 * the function given to capture_on_move() is called. NULL: the file has the other byte order,
 * or another format, or has ended or is damaged: call capture_next().
 */
const unsigned char *capture_raw(struct capture_in *in, struct capture_record *rec);

/* Call @move with @ctx before records that capture_raw() returned are moved. */
void capture_on_move(struct capture_in *in, void (*move)(void *ctx), void *ctx);

#endif /* RECORDS_CAPTURE_H */
