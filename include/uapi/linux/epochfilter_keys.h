/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * epochfilter: what the keys of a filter are made of, for audits. A part of
 * linux/epochfilter.h, which has the conventions and errors.
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_KEYS_H
#define _UAPI_LINUX_EPOCHFILTER_KEYS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* What keys are made of. The module records it and acts on none of it. */
enum epf_key_kind {
	EPF_KEYS_UNKNOWN = 0, /* nobody has said */
	EPF_KEYS_BYTES = 1,   /* text or bytes, as they were given */
	EPF_KEYS_PACKET = 2,  /* of packets: see struct epf_pkt_opts */
	EPF_KEYS_ADDRESS = 3, /* IP addresses: 4 or 16 bytes, network order */
	EPF_KEYS_DIGEST = 4,  /* digests that were made elsewhere */
	EPF_KEYS_MIXED = 5,   /* several of these */
	EPF_KEYS_MAX = EPF_KEYS_MIXED,
};

/**
 * struct epf_key_desc - what the keys of a filter are made of
 * @kind: enum epf_key_kind
 * @key: EPF_KEYS_PACKET: enum epf_pkt_key; of the other kinds 0, as the rest
 * @flags: likewise: EPF_PKT_*
 * @max_bytes: likewise: as in struct epf_pkt_opts, but without the number of a zone, as
 *	keys of a filter may be of several
 */
struct epf_key_desc {
	__u8 kind;
	__u8 key;
	__u16 flags;
	__u32 max_bytes;
};

/**
 * struct epf_describe - EPF_IOC_DESCRIBE
 * @size: sizeof
 * @flags: 0
 * @desc: in: of the keys that are about to be inserted; EPF_KEYS_UNKNOWN: tell
 *	only. out: of all keys of the filter: what was said first, or
 *	EPF_KEYS_MIXED when something else was said later
 *
 * It belongs to the contents: swap, snapshots and restore take it along, clear
 * leaves it.
 */
struct epf_describe {
	__u32 size;
	__u32 flags;
	struct epf_key_desc desc;
};

#endif /* _UAPI_LINUX_EPOCHFILTER_KEYS_H */
