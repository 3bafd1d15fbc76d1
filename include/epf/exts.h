/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A place in a chain of IPv6 extension headers. headers.h follows the chain, header by
 * header; in a program that a verifier reads, the place is in memory that the verifier does
 * not track, so it reads the code of one header only.
 */
#ifndef EPF_EXTS_H
#define EPF_EXTS_H

#include "shim.h"

/* Extension headers; more is malformed. A packet of 65,535 bytes has room for fewer, so no
 * chain that a kernel delivers is too long.
 */
#define EPF_IP6_EXT_MAX 8192

/**
 * struct epf_exts - extension headers, followed up to here
 * @off: offset of the next header in the packet
 * @end: offset after the datagram, by its own length
 * @cap: as in struct epf_l3
 * @proto: of the next header
 * @more: as for epf_ip_walk()
 * @fragment: nonzero: the last header is that of a fragment
 * @frag_id: of that fragment
 * @err: 0, or why the next header cannot be read
 */
struct epf_exts {
	__u32 off;
	__u32 end;
	__u32 cap;
	__u32 proto;
	__u32 more;
	__u32 fragment;
	__u8 frag_id[4];
	__s32 err;
};

EPF_FN bool epf_is_ext(__u32 proto)
{
	switch (proto) {
	case 0:   /* hop-by-hop options */
	case 43:  /* routing */
	case 44:  /* fragment */
	case 51:  /* authentication */
	case 60:  /* destination options */
	case 135: /* mobility */
	case 139: /* host identity */
	case 140: /* shim6 */
		return true;
	}
	return false;
}

#endif /* EPF_EXTS_H */
