/* SPDX-License-Identifier: GPL-2.0 */
/* Capture files, written: pcap that appears whole or not at all. */
#ifndef EPFCTL_CAPTURE_OUT_H
#define EPFCTL_CAPTURE_OUT_H

#include <stdio.h>

#include "audit/capture.h"
#include "beside.h"

/**
 * struct capture_out - a capture being written
 * @why: text of the last error
 * @stream: NULL: not open
 * @file: where it goes; none where it is not a regular file
 */
struct capture_out {
	char why[CAPTURE_WHY_BYTES];
	FILE *stream;
	struct beside file;
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

#endif /* EPFCTL_CAPTURE_OUT_H */
