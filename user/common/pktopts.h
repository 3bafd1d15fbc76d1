/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options for packet keys, the same ones for attach, dedup and audit.
 */
#ifndef EPF_COMMON_PKTOPTS_H
#define EPF_COMMON_PKTOPTS_H

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

#include <linux/epochfilter.h>

enum {
	OPT_KEY = 0x10b, /* behind the options of epfctl/cmd.h: see there */
	OPT_NO_MAC,
	OPT_NO_VLAN,
	OPT_NONIP,
	OPT_BYTES,
	OPT_PREFIX,
	OPT_REVERSE,
	OPT_ERRORS,
	OPT_FRAGMENTS,
	OPT_SCOPE,
	OPT_ZONE,
	OPT_PKT_END,
};
#define PKT_LONGS                                                                                 \
	{ "key", required_argument, NULL, OPT_KEY }, { "no-mac", no_argument, NULL, OPT_NO_MAC }, \
		{ "no-vlan", no_argument, NULL, OPT_NO_VLAN },                                    \
		{ "nonip", required_argument, NULL, OPT_NONIP },                                  \
		{ "bytes", required_argument, NULL, OPT_BYTES },                                  \
		{ "prefix", required_argument, NULL, OPT_PREFIX },                                \
		{ "reverse", no_argument, NULL, OPT_REVERSE },                                    \
		{ "errors", no_argument, NULL, OPT_ERRORS },                                      \
		{ "fragments", required_argument, NULL, OPT_FRAGMENTS },                          \
		{ "scope", required_argument, NULL, OPT_SCOPE },                                  \
	{                                                                                         \
		"zone", required_argument, NULL, OPT_ZONE                                         \
	}
#define PKT_HELP(def)                                                                      \
	"  --key KEY           what makes two packets the same (default: " def "):\n"      \
	"                      frame: all bytes; packet: what forwarding does not\n"       \
	"                      change; flow: addresses, protocol and ports;\n"             \
	"                      conversation: the flow, and the same for its answers;\n"    \
	"                      peer: the source address; peer-port: the source\n"          \
	"                      address, the protocol and the source port\n"                \
	"  --no-mac            packet: leave out the MAC addresses\n"                      \
	"  --no-vlan           packet: leave out the VLAN tags\n"                          \
	"  --nonip pass|frame  flow: pass packets that are not IP (default), or\n"         \
	"                      compare them by all bytes\n"                                \
	"  --bytes N           frame, packet: compare the first N bytes and the "          \
	"length\n"                                                                         \
	"  --prefix V4[,V6]    peer, peer-port: use the first bits of the address, so\n"   \
	"                      many of IPv4 and of IPv6 (default: 32,128)\n"               \
	"These belong to flow, conversation, peer and peer-port:\n"                        \
	"  --reverse           use the key of the answer: source and destination are\n"    \
	"                      exchanged\n"                                                \
	"  --errors            an ICMP error counts as an answer to the packet that it\n"  \
	"                      carries\n"                                                  \
	"  --fragments id|pass  id: by the datagram's id (default); pass: the first has\n" \
	"                      the key of a whole packet, and the others have none\n"      \
	"  --scope LIST        keys are equal only in the same place: vlan, iface\n"       \
	"  --zone N            keys are equal only in the same zone, 0 to 65535\n"

/* Like plan_option(). @o starts as all zero, which is --key frame. */
bool pkt_option(struct epf_pkt_opts *o, int opt, const char *arg);

/* Do the options fit together, and are the scopes among those of @can? If not, prints
 * an error that names the misfit.
 */
bool pkt_options_ok(struct epf_pkt_opts *o, __u32 can);

/* "packet --no-mac --bytes 64" */
void pkt_print(const struct epf_pkt_opts *o);
json_t *pkt_json(const struct epf_pkt_opts *o);

#endif /* EPF_COMMON_PKTOPTS_H */
