// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packet keys: from options, to text and JSON. */
#include "common/pktopts.h"

#include "common/array.h"
#include "common/error.h"
#include "common/parse.h"

#include <string.h>

#include "epf/packet.h"
#include "desc.h"

/* Flags of the options, until pkt_options_ok(): which of its two uses max_bytes has. */
#define PREFIX_GIVEN (1u << 15)
#define BYTES_GIVEN (1u << 14)
EPF_ASSERT(!((PREFIX_GIVEN | BYTES_GIVEN) & EPF_PKT_MASK), "flags that no key has");

static bool parse_key(struct epf_pkt_opts *o, const char *arg)
{
	__u8 key;

	for (key = 0; key < EPF_PKT_KEYS; key++) {
		if (strcmp(arg, epf_key_packet_name(key)))
			continue;
		o->key = key;
		return true;
	}
	fail("--key '%s': not frame, packet, flow, conversation, peer or "
	     "peer-port",
	     arg);
	return false;
}

static bool parse_nonip(struct epf_pkt_opts *o, const char *arg)
{
	if (!strcmp(arg, "frame")) {
		o->flags |= EPF_PKT_NONIP_FRAME;
		return true;
	}
	if (!strcmp(arg, "pass")) {
		o->flags &= (__u16)~EPF_PKT_NONIP_FRAME;
		return true;
	}
	fail("--nonip '%s': not pass or frame", arg);
	return false;
}

static bool parse_max_bytes(struct epf_pkt_opts *o, const char *arg)
{
	__u64 n;

	if (!parse_count("--bytes", arg, 0xffffffff, &n))
		return false;
	if (!n) {
		fail("--bytes 0: leave the option out to compare all bytes");
		return false;
	}
	o->max_bytes = (__u32)n;
	o->flags |= BYTES_GIVEN;
	return true;
}

static bool parse_prefix(struct epf_pkt_opts *o, const char *arg)
{
	__u32 prefix;

	if (!epf_prefix_parse(arg, &prefix)) {
		fail("--prefix '%s': not 8 to 32 bits for IPv4 and, after a comma, 8 to "
		     "128 bits for IPv6",
		     arg);
		return false;
	}
	o->max_bytes = (o->max_bytes & ~0xffffu) | prefix;
	o->flags |= PREFIX_GIVEN;
	return true;
}

static bool parse_zone(struct epf_pkt_opts *o, const char *arg)
{
	__u32 zone;

	if (!epf_zone_parse(arg, &zone)) {
		fail("--zone '%s': not a number from 0 to 65535", arg);
		return false;
	}
	o->max_bytes = (o->max_bytes & 0xffff) | EPF_PKT_IN_ZONE(zone);
	o->flags |= EPF_PKT_ZONE;
	return true;
}

static bool parse_fragments(struct epf_pkt_opts *o, const char *arg)
{
	bool pass = !strcmp(arg, "pass");

	o->flags &= (__u16)~EPF_PKT_FIRST;
	if (pass)
		o->flags |= EPF_PKT_FIRST;
	if (!pass && strcmp(arg, "id"))
		fail("--fragments '%s': not id or pass", arg);
	return pass || !strcmp(arg, "id");
}

static bool parse_scope(struct epf_pkt_opts *o, const char *arg)
{
	static const char *const names[] = { "vlan", "iface", "mark" };
	const char *at = arg;
	size_t i, len;

	do {
		len = strcspn(at, ",");
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (len == strlen(names[i]) && !strncmp(at, names[i], len))
				break;
		if (i == ARRAY_SIZE(names)) {
			fail("--scope '%s': not a list of vlan, iface, mark", arg);
			return false;
		}
		o->flags |= (__u16)(EPF_PKT_VLAN << i);
		at += len;
	} while (*at++);
	return true;
}

bool pkt_option(struct epf_pkt_opts *o, int opt, const char *arg)
{
	switch (opt) {
	case OPT_KEY:
		return parse_key(o, arg);
	case OPT_NO_MAC:
		o->flags |= EPF_PKT_NO_MAC;
		return true;
	case OPT_NO_VLAN:
		o->flags |= EPF_PKT_NO_VLAN;
		return true;
	case OPT_NONIP:
		return parse_nonip(o, arg);
	case OPT_BYTES:
		return parse_max_bytes(o, arg);
	case OPT_PREFIX:
		return parse_prefix(o, arg);
	case OPT_REVERSE:
		o->flags |= EPF_PKT_REVERSE;
		return true;
	case OPT_ERRORS:
		o->flags |= EPF_PKT_ERRORS;
		return true;
	case OPT_FRAGMENTS:
		return parse_fragments(o, arg);
	case OPT_SCOPE:
		return parse_scope(o, arg);
	case OPT_ZONE:
		return parse_zone(o, arg);
	}
	return false;
}

/* The error if an option of frames and packets does not fit the key; NULL: none. */
static const char *misfit_whole(const struct epf_pkt_opts *o)
{
	if ((o->flags & EPF_PKT_NONIP_FRAME) && o->key != EPF_PKT_FLOW)
		return "--nonip frame goes with --key flow only";
	if ((o->flags & EPF_PKT_NO_MAC) && o->key != EPF_PKT_PACKET)
		return "--no-mac goes with --key packet only";
	if ((o->flags & EPF_PKT_NO_VLAN) && o->key != EPF_PKT_PACKET)
		return "--no-vlan goes with --key packet only";
	if ((o->flags & BYTES_GIVEN) && o->key >= EPF_PKT_FLOW)
		return "--bytes goes with --key frame and packet only";
	return NULL;
}

/* The same for options of flows, and of keys that are made of flows. */
static const char *misfit_flow(const struct epf_pkt_opts *o)
{
	bool flow = o->key >= EPF_PKT_FLOW;

	if ((o->flags & PREFIX_GIVEN) && o->key < EPF_PKT_PEER)
		return "--prefix goes with --key peer and peer-port only";
	if ((o->flags & EPF_PKT_REVERSE) && !flow)
		return "--reverse does not go with --key frame or packet";
	if ((o->flags & EPF_PKT_ERRORS) && !flow)
		return "--errors does not go with --key frame or packet";
	if ((o->flags & EPF_PKT_FIRST) && !flow)
		return "--fragments pass does not go with --key frame or packet";
	if ((o->flags & EPF_PKT_ZONE) && !flow)
		return "--zone does not go with --key frame or packet";
	if ((o->flags & EPF_PKT_SCOPES) && !flow)
		return "--scope does not go with --key frame or packet";
	if ((o->flags & EPF_PKT_ZONE) && (o->flags & EPF_PKT_MARK))
		return "--zone and --scope mark exclude each other: a key has only one "
		       "field for both";
	if ((o->flags & EPF_PKT_REVERSE) && o->key == EPF_PKT_CONVERSATION)
		return "--reverse does not go with --key conversation, which has both "
		       "directions";
	if ((o->flags & EPF_PKT_FIRST) && o->key == EPF_PKT_PEER)
		return "--fragments pass does not go with --key peer, which uses no ports";
	if (o->flags & EPF_PKT_NONIP_FRAME &&
	    o->flags & ~(EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL))
		return "--nonip frame does not go with --reverse, --errors, --fragments, "
		       "--scope or --zone";
	return NULL;
}

bool pkt_options_ok(struct epf_pkt_opts *o, __u32 can)
{
	const char *why = misfit_whole(o);
	char scope[EPF_SCOPE_TEXT];

	if (!why)
		why = misfit_flow(o);
	if (why) {
		fail("%s", why);
		return false;
	}
	o->flags &= (__u16) ~(PREFIX_GIVEN | BYTES_GIVEN);
	epf_pkt_scope_text(o->flags & EPF_PKT_SCOPES & ~can, scope);
	if (scope[0])
		fail("--scope %s: packets do not have this here, leave it out", scope);
	return !scope[0];
}

void pkt_print(const struct epf_pkt_opts *o)
{
	char text[EPF_DESC_TEXT];

	epf_pkt_opts_text(o, text);
	printf("%s", text);
}

/* Add the members that only keys of flows, and those made of flows, have. */
static void flow_json(json_t *to, const struct epf_pkt_opts *o)
{
	__u32 v4 = EPF_PKT_PREFIX4(o->max_bytes), v6 = EPF_PKT_PREFIX6(o->max_bytes);
	char scope[EPF_SCOPE_TEXT];

	if (o->key < EPF_PKT_FLOW)
		return;
	epf_pkt_scope_text(o->flags, scope);
	json_object_set_new(to, "reverse", json_boolean(o->flags & EPF_PKT_REVERSE));
	json_object_set_new(to, "errors", json_boolean(o->flags & EPF_PKT_ERRORS));
	json_object_set_new(to, "fragments", json_string(o->flags & EPF_PKT_FIRST ? "pass" : "id"));
	json_object_set_new(to, "scope", json_string(scope));
	if (o->flags & EPF_PKT_ZONE)
		json_object_set_new(to, "zone", json_integer(EPF_PKT_ZONE_OF(o->max_bytes)));
	if (o->key < EPF_PKT_PEER)
		return;
	json_object_set_new(to, "prefix", json_pack("[ii]", v4 ? (int)v4 : 32, v6 ? (int)v6 : 128));
}

json_t *pkt_json(const struct epf_pkt_opts *o)
{
	json_int_t bytes = o->key < EPF_PKT_FLOW ? o->max_bytes : 0;
	json_t *to = json_pack("{s:s, s:b, s:b, s:s, s:I}", "key", epf_key_packet_name(o->key),
			       "mac", !(o->flags & EPF_PKT_NO_MAC), "vlan",
			       !(o->flags & EPF_PKT_NO_VLAN), "nonip",
			       o->flags & EPF_PKT_NONIP_FRAME ? "frame" : "pass", "bytes", bytes);

	flow_json(to, o);
	return to;
}
