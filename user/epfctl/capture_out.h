/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Write capture files, pcap or pcapng. A file appears complete or not at all. */
#ifndef EPFCTL_CAPTURE_OUT_H
#define EPFCTL_CAPTURE_OUT_H

#include "capture_any.h"
#include "libepf/atomic_file.h"

enum capture_format { FORMAT_PCAP, FORMAT_PCAPNG };

/**
 * struct capture_loss - what was lost because pcap cannot express it
 * @blocks: names, secrets, statistics and such
 * @options: blocks that are written, or become a packet, without their options:
 *	comments and such
 * @stamps: time stamps of packets that were truncated to microseconds
 */
struct capture_loss {
	__u64 blocks;
	__u64 options;
	__u64 stamps;
};

/**
 * struct capture_out - a capture being written
 * @why: text of the last error
 * @fd: of the output
 * @buffer: what is to be written to it next; NULL: not open
 * @used: bytes of @buffer
 * @file: the output file; unused if the output is not a regular file
 * @format: of the output
 * @like: the input
 * @begun: the header is written
 * @failed: a write failed; @why is set
 * @run: records of the input, one behind another, that are still to be written; see @raw of
 *	struct item
 * @run_bytes: their length
 * @link: pcap: LINKTYPE_* of all packets
 * @nano: pcap, or pcapng made from pcap: time stamps are in ns, otherwise in us
 * @loss: pcap: what was lost
 */
struct capture_out {
	char why[CAPTURE_WHY_BYTES];
	int fd;
	char *buffer;
	size_t used;
	struct epf_file file;
	enum capture_format format;
	const struct source *like;
	bool begun;
	bool failed;
	const unsigned char *run;
	size_t run_bytes;
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
int capture_create(struct capture_out *out, const char *path, enum capture_format format,
		   const struct source *like);

/**
 * capture_put() - write an item
 * @out: capture
 * @item: the last one read from @out->like. If both files are pcapng, each block
 *	is written unchanged, except that the length of a section is left
 *	unspecified.
 *
 * Return: 0, or -1 if the file can no longer be written or cannot hold this
 * packet (@why).
 */
int capture_put(struct capture_out *out, const struct item *item);

/**
 * capture_settle() - take over what the input has in memory
 * @out: capture; does nothing if it is not open
 *
 * The caller does this before that memory changes (source_on_move()). If it fails,
 * capture_put() fails from then on, and capture_commit() too.
 */
void capture_settle(struct capture_out *out);

/**
 * capture_flush() - write what is buffered
 * @out: capture; does nothing if it is not open
 *
 * If that fails, capture_put() fails from then on, and capture_commit() too.
 */
void capture_flush(struct capture_out *out);

/* Flush, sync, close and give it its name. Return: 0, or -1: discarded (@why). */
int capture_commit(struct capture_out *out);

/* Close and remove what was written. Does nothing if @out is not open. */
void capture_discard(struct capture_out *out);

#endif /* EPFCTL_CAPTURE_OUT_H */
