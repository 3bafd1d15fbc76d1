/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The form in which a packet is compared: without outer headers, without fields that
 * devices on its way change, without its first bytes.
 */
#ifndef EPFCTL_DEDUP_VIEW_H
#define EPFCTL_DEDUP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/* --mask */
#define MASK_TOS (1u << 0)     /* IPv4 TOS, IPv6 traffic class */
#define MASK_SEQ (1u << 1)     /* TCP sequence and acknowledgment number */
#define MASK_OPTIONS (1u << 2) /* TCP options */

/**
 * struct view - a packet, or a part of it
 * @data: the captured bytes
 * @len: number of captured bytes
 * @length: number of bytes on the wire, @len or more
 * @link: enum epf_pkt_link; -1: a link type without known headers
 */
struct view {
	const unsigned char *data;
	__u32 len;
	__u32 length;
	int link;
};

/**
 * struct view_room - memory for a changed packet; zeros at first
 * @bytes: memory
 * @size: number of bytes
 */
struct view_room {
	unsigned char *bytes;
	size_t size;
};

/**
 * view_inner() - leave out the outer headers of MPLS, VXLAN and GRE
 * @v: packet; becomes the innermost packet, of link type Ethernet or IP
 *
 * Formats: RFC 3032 and 4385 (MPLS), 7348 (VXLAN, UDP port 4789), 2784 and 2890 (GRE), 7637
 * (NVGRE), draft-foschiano-erspan-03 (ERSPAN). A packet stays as it is where a header is
 * incomplete, malformed or unknown, and where the outer packet is a fragment.
 *
 * Return: whether headers were left out.
 */
bool view_inner(struct view *v);

/**
 * view_mask() - set fields to 0, and checksums that cover them
 * @v: packet; what changes is copied to @room
 * @masks: MASK_*. MASK_OPTIONS makes the packet as if it had been sent without TCP options
 * @room: memory
 *
 * Headers that are incomplete or malformed stay as they are.
 *
 * Return: 0 or -ENOMEM.
 */
int view_mask(struct view *v, unsigned int masks, struct view_room *room);

/**
 * view_ignore() - leave out the first bytes
 * @v: packet
 * @n: number of bytes
 *
 * Return: whether it was done; a packet with no more than @n captured bytes stays as it is.
 */
bool view_ignore(struct view *v, __u32 n);

void view_room_free(struct view_room *room);

#endif /* EPFCTL_DEDUP_VIEW_H */
