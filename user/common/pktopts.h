/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet keys on the command line: the same options for attach and dedup.
 */
#ifndef EPF_COMMON_PKTOPTS_H
#define EPF_COMMON_PKTOPTS_H

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

#include <linux/epochfilter.h>

enum {
	OPT_KEY = 0x10b, /* where the options of epfctl/cmd.h end: see there */
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
#define PKT_LONGS \
	{ "key", required_argument, NULL, OPT_KEY }, \
	{ "no-mac", no_argument, NULL, OPT_NO_MAC }, \
	{ "no-vlan", no_argument, NULL, OPT_NO_VLAN }, \
	{ "nonip", required_argument, NULL, OPT_NONIP }, \
	{ "bytes", required_argument, NULL, OPT_BYTES }, \
	{ "prefix", required_argument, NULL, OPT_PREFIX }, \
	{ "reverse", no_argument, NULL, OPT_REVERSE }, \
	{ "errors", no_argument, NULL, OPT_ERRORS }, \
	{ "fragments", required_argument, NULL, OPT_FRAGMENTS }, \
	{ "scope", required_argument, NULL, OPT_SCOPE }, \
	{ "zone", required_argument, NULL, OPT_ZONE }
#define PKT_HELP(def) \
	"  --key frame|packet|flow  what makes two packets the same: all bytes, " \
	"what\n" \
	"                      forwarding leaves alone, or addresses, protocol " \
	"and\n" \
	"                      ports (" def ")\n" \
	"  --key conversation|peer|peer-port  or the flow and its answers, the " \
	"source\n" \
	"                      address, or that with protocol and source port\n" \
	"  --no-mac            packet: leave out the MAC addresses\n" \
	"  --no-vlan           packet: leave out the VLAN tags\n" \
	"  --nonip pass|frame  flow: packets that are not IP are passed " \
	"(default), or\n" \
	"                      compared by all bytes\n" \
	"  --bytes N           frame, packet: compare the first N bytes and the " \
	"length\n" \
	"  --prefix V4[,V6]    peer, peer-port: so many bits of the address " \
	"(32,128)\n" \
	"flow, conversation, peer and peer-port:\n" \
	"  --reverse           the key of the answer: source and destination " \
	"exchanged\n" \
	"  --errors            ICMP errors count for the packet that they carry\n" \
	"  --fragments id|pass  by the datagram's id (default), or the first " \
	"counts\n" \
	"                      for all, and the others are passed\n" \
	"  --scope LIST        with the vlan, the iface: equal keys elsewhere " \
	"differ\n" \
	"  --zone N            with a number, 0 to 65535: keys of one zone are " \
	"equal,\n" \
	"                      those of others differ\n"

/* As promise_option(). @o starts as all zero: --key frame. */
bool pkt_option(struct epf_pkt_opts *o, int opt, const char *arg);

/* Do the options go together, and are the scopes among those of @can? Else an error,
 * naming what does not.
 */
bool pkt_options_ok(struct epf_pkt_opts *o, __u32 can);

/* "packet --no-mac --bytes 64" */
void pkt_print(const struct epf_pkt_opts *o);
json_t *pkt_json(const struct epf_pkt_opts *o);

#endif /* EPF_COMMON_PKTOPTS_H */
