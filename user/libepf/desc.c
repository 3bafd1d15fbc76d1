// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "desc.h"

#include "epf/keydesc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
	[EPF_KEYS_UNKNOWN] = "unknown", [EPF_KEYS_BYTES] = "bytes",
	[EPF_KEYS_PACKET] = "packets",  [EPF_KEYS_ADDRESS] = "addresses",
	[EPF_KEYS_DIGEST] = "digests",  [EPF_KEYS_MIXED] = "mixed",
};

static const char *const phrases[] = {
	[EPF_KEYS_UNKNOWN] = "not recorded", [EPF_KEYS_BYTES] = "text or bytes",
	[EPF_KEYS_PACKET] = "packets",       [EPF_KEYS_ADDRESS] = "IP addresses of 4 or 16 bytes",
	[EPF_KEYS_DIGEST] = "digests",       [EPF_KEYS_MIXED] = "of several kinds",
};

static const char *const packet_keys[] = {
	[EPF_PKT_FRAME] = "frame", [EPF_PKT_PACKET] = "packet",
	[EPF_PKT_FLOW] = "flow",   [EPF_PKT_CONVERSATION] = "conversation",
	[EPF_PKT_PEER] = "peer",   [EPF_PKT_PEER_PORT] = "peer-port",
};

#define NAME(names, i) ((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : "unknown")

const char *epf_key_kind_name(__u8 kind)
{
	return NAME(kind_names, kind);
}

const char *epf_key_packet_name(__u8 key)
{
	return NAME(packet_keys, key);
}

void epf_pkt_scope_text(__u32 flags, char text[EPF_SCOPE_TEXT])
{
	char list[EPF_SCOPE_TEXT + 1]; /* the first item has a comma before it as well */

	snprintf(list, sizeof(list), "%s%s%s", flags & EPF_PKT_VLAN ? ",vlan" : "",
		 flags & EPF_PKT_IFACE ? ",iface" : "", flags & EPF_PKT_MARK ? ",mark" : "");
	strcpy(text, list + !!list[0]);
}

/* Format --bytes or --prefix, the options with a number. */
static void number_text(const struct epf_pkt_opts *o, char text[32])
{
	__u32 v4 = EPF_PKT_PREFIX4(o->max_bytes), v6 = EPF_PKT_PREFIX6(o->max_bytes);

	text[0] = 0;
	if (o->key < EPF_PKT_FLOW ? !o->max_bytes : !v4 && !v6)
		return;
	if (o->key < EPF_PKT_FLOW)
		snprintf(text, 32, " --bytes %u", o->max_bytes);
	else
		snprintf(text, 32, " --prefix %u,%u", v4 ? v4 : 32, v6 ? v6 : 128);
}

/* @zone: text for the number of the zone, if the options have one
 */
static void opts_text(const struct epf_pkt_opts *o, const char *zone, char text[EPF_DESC_TEXT])
{
	char number[32], scope[EPF_SCOPE_TEXT];

	number_text(o, number);
	epf_pkt_scope_text(o->flags, scope);
	snprintf(text, EPF_DESC_TEXT, "%s%s%s%s%s%s%s%s%s%s%s%s", epf_key_packet_name(o->key),
		 o->flags & EPF_PKT_NO_MAC ? " --no-mac" : "",
		 o->flags & EPF_PKT_NO_VLAN ? " --no-vlan" : "",
		 o->flags & EPF_PKT_NONIP_FRAME ? " --nonip frame" : "", number,
		 o->flags & EPF_PKT_REVERSE ? " --reverse" : "",
		 o->flags & EPF_PKT_ERRORS ? " --errors" : "",
		 o->flags & EPF_PKT_FIRST ? " --fragments pass" : "", scope[0] ? " --scope " : "",
		 scope, o->flags & EPF_PKT_ZONE ? " --zone " : "",
		 o->flags & EPF_PKT_ZONE ? zone : "");
}

void epf_pkt_opts_text(const struct epf_pkt_opts *o, char text[EPF_DESC_TEXT])
{
	char zone[8];

	snprintf(zone, sizeof(zone), "%u", EPF_PKT_ZONE_OF(o->max_bytes) & 0xffff);
	opts_text(o, zone, text);
}

/* Parse a prefix length of 8 to @all bits, or 0 if there are no digits.
 * Return: the rest of @text; NULL: out of range.
 */
static const char *prefix_bits(const char *text, __u32 all, __u32 *bits)
{
	unsigned long n;
	char *end;

	*bits = 0;
	if (*text < '0' || *text > '9')
		return text;
	n = strtoul(text, &end, 10);
	*bits = (__u32)n;
	return n >= EPF_PKT_PREFIX_LEAST && n <= all && end - text < 4 ? end : NULL;
}

bool epf_prefix_parse(const char *text, __u32 *max_bytes)
{
	__u32 v4, v6 = 0;
	const char *rest = prefix_bits(text, 32, &v4);

	if (rest && (*rest == ',' || *rest == '/') && rest[1])
		rest = prefix_bits(rest + 1, 128, &v6);
	if (!rest || *rest || !*text)
		return false;
	*max_bytes = EPF_PKT_PREFIX(v4, v6);
	return true;
}

bool epf_zone_parse(const char *text, __u32 *zone)
{
	size_t len = strspn(text, "0123456789");
	unsigned long n = strtoul(text, NULL, 10);

	*zone = (__u32)n;
	return len && !text[len] && len < 6 && n <= 65535;
}

void epf_key_desc_text(const struct epf_key_desc *d, char text[EPF_DESC_TEXT])
{
	struct epf_pkt_opts o = epf_key_desc_opts(d);
	char options[EPF_DESC_TEXT];

	if (d->kind != EPF_KEYS_PACKET) {
		snprintf(text, EPF_DESC_TEXT, "%s", NAME(phrases, d->kind));
		return;
	}
	opts_text(&o, "N", options);
	snprintf(text, EPF_DESC_TEXT, "packets (--key %.110s)", options);
}
