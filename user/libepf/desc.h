/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What keys are made of, in words. */
#ifndef LIBEPF_DESC_H
#define LIBEPF_DESC_H

#include <stdbool.h>

#include <linux/epochfilter.h>

#define EPF_DESC_TEXT 128 /* room for any description */
#define EPF_SCOPE_TEXT 16 /* for any list of scopes */

/* "bytes", "packets", ...; "unknown" for an unknown kind. */
const char *epf_key_kind_name(__u8 kind);

/* "frame", "packet", "flow", ... */
const char *epf_key_packet_name(__u8 key);

/* Flags of EPF_PKT_SCOPES: "vlan", "vlan,iface", ... */
void epf_pkt_scope_text(__u32 flags, char text[EPF_SCOPE_TEXT]);

/* As on the command line: "packet --no-mac --bytes 64", "flow --zone 7". */
void epf_pkt_opts_text(const struct epf_pkt_opts *o, char text[EPF_DESC_TEXT]);

/* Parse "24", "24,64" or ",64", prefix lengths of a peer's address, as
 * EPF_PKT_PREFIX(). A '/' may replace the comma, which ends an option in
 * configurations. Return: was the text valid?
 */
bool epf_prefix_parse(const char *text, __u32 *max_bytes);

/* Parse a zone: 0 to 65535, digits only. Return: was the text valid? */
bool epf_zone_parse(const char *text, __u32 *zone);

/* A phrase: "text or bytes", "packets (--key packet --no-mac)". */
void epf_key_desc_text(const struct epf_key_desc *d, char text[EPF_DESC_TEXT]);

#endif /* LIBEPF_DESC_H */
