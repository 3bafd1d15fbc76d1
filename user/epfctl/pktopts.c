// SPDX-License-Identifier: GPL-2.0
/* Packet keys: from options, to text and JSON. */
#include "pktopts.h"

#include <string.h>

#include "epf/packet.h"

static const char *const key_names[] = { "frame", "packet", "flow" };

static bool parse_key(struct epf_pkt_opts *o, const char *arg)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(key_names); i++) {
		if (strcmp(arg, key_names[i]))
			continue;
		o->key = (__u8)i;
		return true;
	}
	fail("--key '%s': not frame, packet or flow", arg);
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
	}
	return false;
}

bool pkt_options_ok(const struct epf_pkt_opts *o)
{
	if (!epf_pkt_opts_check(o))
		return true;
	if (o->flags & EPF_PKT_NONIP_FRAME)
		fail("--nonip frame goes with --key flow only");
	else if (o->flags & EPF_PKT_NO_MAC)
		fail("--no-mac goes with --key packet only");
	else if (o->flags & EPF_PKT_NO_VLAN)
		fail("--no-vlan goes with --key packet only");
	else
		fail("--bytes does not go with --key flow");
	return false;
}

void pkt_print(const struct epf_pkt_opts *o)
{
	printf("%s", o->key < ARRAY_SIZE(key_names) ? key_names[o->key] :
						      "unknown");
	if (o->flags & EPF_PKT_NO_MAC)
		printf(" --no-mac");
	if (o->flags & EPF_PKT_NO_VLAN)
		printf(" --no-vlan");
	if (o->flags & EPF_PKT_NONIP_FRAME)
		printf(" --nonip frame");
	if (o->max_bytes)
		printf(" --bytes %u", o->max_bytes);
}

json_t *pkt_json(const struct epf_pkt_opts *o)
{
	const char *key = o->key < ARRAY_SIZE(key_names) ? key_names[o->key] :
							   "unknown";

	return json_pack("{s:s, s:b, s:b, s:s, s:I}", "key", key, "mac",
			 !(o->flags & EPF_PKT_NO_MAC), "vlan",
			 !(o->flags & EPF_PKT_NO_VLAN), "nonip",
			 o->flags & EPF_PKT_NONIP_FRAME ? "frame" : "pass",
			 "bytes", (json_int_t)o->max_bytes);
}
