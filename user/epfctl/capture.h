/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Capture files: read pcap and pcapng, write pcap that appears whole or not at
 * all. Errors are texts without the file's name, in @why of either struct.
 */
#ifndef EPFCTL_CAPTURE_H
#define EPFCTL_CAPTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include <linux/types.h>
#include <pcap/pcap.h>

#define CAPTURE_HEAD_BYTES 4096
#define CAPTURE_WHY_BYTES (PCAP_ERRBUF_SIZE + 128)

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
};

/**
 * capture_open() - open a capture for reading
 * @in: result; @why is set on error
 * @path: file, or "-" for standard input
 *
 * Return: 0 or -1; after -1 nothing is left open.
 */
int capture_open(struct capture_in *in, const char *path);
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

/**
 * struct capture_out - a capture being written
 * @why: text of the last error
 * @stream: NULL: not open
 * @path: resolved name it will have; NULL where it is not a regular file
 * @tmp: name it has until then
 */
struct capture_out {
	char why[CAPTURE_WHY_BYTES];
	FILE *stream;
	char *path;
	char *tmp;
};

/**
 * capture_create() - begin a capture with the header of another
 * @out: result; @why is set on error
 * @path: file, or "-" for standard output; a pipe or device is written directly
 * @like: link type, snap length and precision are taken from it
 *
 * Return: 0 or -1; after -1 nothing is left open or behind.
 */
int capture_create(struct capture_out *out, const char *path,
		   struct capture_in *like);

/* Return: 0, or -1 when the file can no longer be written (@why). */
int capture_put(struct capture_out *out, const struct pcap_pkthdr *hdr,
		const unsigned char *data);

/* Flush, close and give it its name. Return: 0, or -1: discarded (@why). */
int capture_commit(struct capture_out *out);

/* Close and remove what was written; nothing where it is not open. */
void capture_discard(struct capture_out *out);

#endif /* EPFCTL_CAPTURE_H */
