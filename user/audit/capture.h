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
 * struct ng_walk - where in a pcapng file the bytes are that libpcap has taken
 * @off: it is none, or one that libpcap will not read on
 * @big: byte order of the section
 * @head: of the block, type, length, and in a section header the order
 * @have: bytes of @head
 * @skip: that are left of the block
 * @interfaces: of the section: libpcap remembers each
 */
struct ng_walk {
	bool off;
	bool big;
	unsigned char head[12];
	__u32 have;
	__u32 skip;
	__u32 interfaces;
};

/**
 * struct capture_in - a capture being read
 * @pcap: libpcap's handle
 * @stat: of the opened file
 * @nano: time stamps are in ns, else in us
 * @done_bytes: taken from the file so far
 * @why: text of the last error
 * @fd: the file
 * @head: its beginning, read ahead to learn the precision of its time stamps
 * @head_len: bytes in @head
 * @head_at: of which libpcap has taken so many
 * @walk: what it has taken
 */
struct capture_in {
	pcap_t *pcap;
	struct stat stat;
	bool nano;
	__u64 done_bytes;
	char why[CAPTURE_WHY_BYTES];
	int fd;
	unsigned char head[CAPTURE_HEAD_BYTES];
	size_t head_len;
	size_t head_at;
	struct ng_walk walk;
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
