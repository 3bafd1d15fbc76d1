/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * epochfilter: what the keys of a filter are made of, for audits. A part of
 * linux/epochfilter.h, which has the conventions and errors.
 */
#ifndef _UAPI_LINUX_EPOCHFILTER_KEYS_H
#define _UAPI_LINUX_EPOCHFILTER_KEYS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* What keys are made of. The module records it and does not act on it. */
enum epf_key_kind {
	EPF_KEYS_UNKNOWN = 0, /* not described */
	EPF_KEYS_BYTES = 1,   /* text or bytes, as they were given */
	EPF_KEYS_PACKET = 2,  /* packets: see struct epf_pkt_opts */
	EPF_KEYS_ADDRESS = 3, /* IP addresses: 4 or 16 bytes, network order */
	EPF_KEYS_DIGEST = 4,  /* digests made elsewhere */
	EPF_KEYS_MIXED = 5,   /* several of these */
	EPF_KEYS_MAX = EPF_KEYS_MIXED,
};

/**
 * struct epf_key_desc - what the keys of a filter are made of
 * @kind: enum epf_key_kind
 * @key: EPF_KEYS_PACKET: enum epf_pkt_key; for other kinds this and all fields
 *	below are 0
 * @flags: EPF_KEYS_PACKET: EPF_PKT_*
 * @max_bytes: EPF_KEYS_PACKET: as in struct epf_pkt_opts, but without a zone
 *	number, because keys of a filter may be of several zones
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
 * @desc: in: of the keys that are about to be inserted; EPF_KEYS_UNKNOWN: only
 *	read the description. out: of all keys of the filter: the first
 *	description given, or EPF_KEYS_MIXED if a later one differed
 *
 * The description belongs to the contents: swap, snapshots and restore move it
 * along, clear keeps it.
 */
struct epf_describe {
	__u32 size;
	__u32 flags;
	struct epf_key_desc desc;
};

#endif /* _UAPI_LINUX_EPOCHFILTER_KEYS_H */
