/* SPDX-License-Identifier: GPL-2.0 */
/* Captures, read: pcap and pcapng. Errors are texts without the file's name. */
#ifndef AUDIT_CAPTURE_H
#define AUDIT_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include <linux/types.h>
#include <pcap/pcap.h>

#define CAPTURE_HEAD_BYTES 4096
#define CAPTURE_WHY_BYTES (PCAP_ERRBUF_SIZE + 128)

/**
 * struct ng_feed - what libpcap gets of a pcapng file: sections, interfaces and
 *	packets, not the blocks that it would skip, however many there are
 * @on: the input is pcapng
 * @ended: libpcap gets what is queued, then the end of the file
 * @big: byte order of the section
 * @wanted: the block is one for libpcap
 * @head: of the block: type, length, and in a section header the order
 * @have: bytes of @head
 * @left: bytes of the block that have not been read, with its second length
 * @tail: of a block that is skipped: its last bytes
 * @interfaces: of the section: libpcap remembers each
 * @packets: that were queued, whole or in part
 * @taken: that libpcap has returned
 * @opened: an interface was queued, so that libpcap can open the file
 * @queue: for libpcap
 * @at: the first byte of it that libpcap has not got
 * @end: behind the last one
 * @room: bytes allocated
 * @raw: room to read
 * @fault: what is wrong with the file; NULL: nothing
 * @error: errno of reading it, or 0
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
 * struct capture_in - a capture being read
 * @pcap: libpcap's handle
 * @stat: of the opened file
 * @nano: time stamps are in ns, else in us
 * @done_bytes: read from the file so far
 * @why: text of the last error
 * @fd: the file
 * @buffer: of the stream that libpcap reads; NULL: the stream's own
 * @head: its beginning, read ahead to learn the precision of its time stamps
 * @head_len: bytes in @head
 * @head_at: of which so many have been read again
 * @feed: of pcapng
 */
struct capture_in {
	pcap_t *pcap;
	struct stat stat;
	bool nano;
	__u64 done_bytes;
	char why[CAPTURE_WHY_BYTES];
	int fd;
	char *buffer;
	unsigned char head[CAPTURE_HEAD_BYTES];
	size_t head_len;
	size_t head_at;
	struct ng_feed feed;
};

/**
 * capture_open() - open a capture for reading
 * @in: result; @why is set on error
 * @path: file, or "-" for standard input
 *
 * Return: 0 or -1; after -1 nothing is left open.
 */
int capture_open(struct capture_in *in, const char *path);

/* Likewise, from a descriptor that stays the caller's, of which @len bytes have
 * been read, CAPTURE_HEAD_BYTES at most.
 */
int capture_attach(struct capture_in *in, int fd, const void *head, size_t len);
void capture_close(struct capture_in *in);

/**
 * capture_ready() - look for the next packet, for so long
 * @in: capture
 * @bytes: of the input that are read at most, about
 *
 * A pcapng file may have any number of blocks between two packets.
 *
 * Return: true: capture_next() reads no more than a packet; false: ask again.
 */
bool capture_ready(struct capture_in *in, size_t bytes);

/**
 * capture_next() - the next packet
 * @in: capture
 * @hdr: set; the fraction of the time stamp is in ns where @in->nano
 * @data: set; both are good until the next call
 *
 * Return: 1; 0 at the end; -1 where the file is cut off or damaged (@why).
 */
int capture_next(struct capture_in *in, struct pcap_pkthdr **hdr,
		 const unsigned char **data);

/* Time stamp in ns since 1970. */
__u64 capture_ns(const struct capture_in *in, const struct pcap_pkthdr *hdr);

/* Return: enum epf_pkt_link; -1: one that only a frame key works on. */
int capture_link(const struct capture_in *in);
const char *capture_link_name(const struct capture_in *in);

/* Write the header of a savefile, which is libpcap's, with the link type, snap
 * length and precision of @like. Return: 0, or -1.
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

#endif /* AUDIT_CAPTURE_H */
