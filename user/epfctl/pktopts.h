/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet keys on the command line: the same options for attach and dedup.
 */
#ifndef EPFCTL_PKTOPTS_H
#define EPFCTL_PKTOPTS_H

#include "cmd.h"

enum {
	OPT_KEY = OPT_KEYS_END,
	OPT_NO_MAC,
	OPT_NO_VLAN,
	OPT_NONIP,
	OPT_BYTES,
	OPT_PKT_END,
};
#define PKT_LONGS \
	{ "key", required_argument, NULL, OPT_KEY }, \
	{ "no-mac", no_argument, NULL, OPT_NO_MAC }, \
	{ "no-vlan", no_argument, NULL, OPT_NO_VLAN }, \
	{ "nonip", required_argument, NULL, OPT_NONIP }, \
	{ "bytes", required_argument, NULL, OPT_BYTES }
#define PKT_HELP(def) \
	"  --key frame|packet|flow  what makes two packets the same: all bytes, " \
	"what\n" \
	"                      forwarding leaves alone, or addresses, protocol " \
	"and\n" \
	"                      ports (" def ")\n" \
	"  --no-mac            packet: leave out the MAC addresses\n" \
	"  --no-vlan           packet: leave out the VLAN tags\n" \
	"  --nonip pass|frame  flow: packets that are not IP are passed " \
	"(default), or\n" \
	"                      compared by all bytes\n" \
	"  --bytes N           frame, packet: compare the first N bytes and the " \
	"length\n"

/* As promise_option(). @o starts as all zero: --key frame. */
bool pkt_option(struct epf_pkt_opts *o, int opt, const char *arg);

/* Do the options go together? Else an error, naming the one that does not. */
bool pkt_options_ok(const struct epf_pkt_opts *o);

/* "packet --no-mac --bytes 64" */
void pkt_print(const struct epf_pkt_opts *o);
json_t *pkt_json(const struct epf_pkt_opts *o);

#endif /* EPFCTL_PKTOPTS_H */
