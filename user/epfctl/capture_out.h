/* SPDX-License-Identifier: GPL-2.0 */
/* Capture files, written: pcap or pcapng that appears whole or not at all. */
#ifndef EPFCTL_CAPTURE_OUT_H
#define EPFCTL_CAPTURE_OUT_H

#include <stdio.h>

#include "capture_any.h"
#include "libepf/atomic_file.h"

enum capture_format { FORMAT_PCAP, FORMAT_PCAPNG };

/**
 * struct capture_loss - what pcapng has and pcap does not
 * @blocks: names, secrets, statistics and such
 * @options: blocks that are written, or end in a packet, without theirs:
 *	comments and such
 * @stamps: of packets, cut to us
 */
struct capture_loss {
	__u64 blocks;
	__u64 options;
	__u64 stamps;
};

/**
 * struct capture_out - a capture being written
 * @why: text of the last error
 * @stream: NULL: not open
 * @buffer: of @stream
 * @file: where it goes; none where it is not a regular file
 * @format: of it
 * @like: what is read
 * @begun: it has a header
 * @link: of pcap: LINKTYPE_* of all packets
 * @nano: of pcap, or pcapng from it: stamps are in ns, else in us
 * @loss: in pcap
 */
struct capture_out {
	char why[CAPTURE_WHY_BYTES];
	FILE *stream;
	char *buffer;
	struct epf_file file;
	enum capture_format format;
	const struct source *like;
	bool begun;
	__u32 link;
	bool nano;
	struct capture_loss loss;
};

/**
 * capture_create() - begin a capture
 * @out: result; @why is set on error
 * @path: file, or "-" for standard output; a FIFO or character
 *	device is written directly
 * @format: of it
 * @like: where its items come from
 *
 * Return: 0 or -1; after -1 nothing is left open or behind.
 */
int capture_create(struct capture_out *out, const char *path,
		   enum capture_format format, const struct source *like);

/**
 * capture_put() - write an item
 * @out: capture
 * @item: the last one of @out->like. In pcapng from pcapng each block is written
 *	as it is, but for the length of a section, which is not told.
 *
 * Return: 0, or -1 when the file can no longer be written, or cannot hold this
 * packet (@why).
 */
int capture_put(struct capture_out *out, const struct item *item);

/* Flush, sync, close and give it its name. Return: 0, or -1: discarded (@why). */
int capture_commit(struct capture_out *out);

/* Close and remove what was written; nothing where it is not open. */
void capture_discard(struct capture_out *out);

#endif /* EPFCTL_CAPTURE_OUT_H */
