/* SPDX-License-Identifier: GPL-2.0 */
/* What keys are made of, in words. */
#ifndef LIBEPF_DESC_H
#define LIBEPF_DESC_H

#include <linux/epochfilter.h>

#define EPF_DESC_TEXT 80 /* room for any of them */

/* "bytes", "packets", ...; of a kind that is not known "unknown". */
const char *epf_key_kind_name(__u8 kind);

/* "frame", "packet", "flow". */
const char *epf_key_packet_name(__u8 key);

/* A phrase: "text or bytes", "packets (--key packet --no-mac)". */
void epf_key_desc_text(const struct epf_key_desc *d, char text[EPF_DESC_TEXT]);

#endif /* LIBEPF_DESC_H */
