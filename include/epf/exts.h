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
 * struct epf_exts - extension headers, followed up to here; small, because it is on a stack
 * @end: offset after the bytes that may be read
 * @frag_id: of the last fragment header
 * @off: offset of the next header in the packet
 * @fragment: nonzero: the last header is that of a fragment
 * @proto: of the next header
 * @more: as for epf_ip_walk()
 */
struct epf_exts {
	__u32 end;
	__u8 frag_id[4];
	__u32 off;
	__u16 fragment;
	__u8 proto;
	__u8 more;
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
