// SPDX-License-Identifier: GPL-2.0
#include "desc.h"

#include <stdio.h>

static const char *const kind_names[] = {
	[EPF_KEYS_UNKNOWN] = "unknown", [EPF_KEYS_BYTES] = "bytes",
	[EPF_KEYS_PACKET] = "packets",	[EPF_KEYS_ADDRESS] = "addresses",
	[EPF_KEYS_DIGEST] = "digests",	[EPF_KEYS_MIXED] = "mixed",
};

static const char *const phrases[] = {
	[EPF_KEYS_UNKNOWN] = "not recorded",
	[EPF_KEYS_BYTES] = "text or bytes",
	[EPF_KEYS_PACKET] = "packets",
	[EPF_KEYS_ADDRESS] = "IP addresses of 4 or 16 bytes",
	[EPF_KEYS_DIGEST] = "digests",
	[EPF_KEYS_MIXED] = "of several kinds",
};

static const char *const packet_keys[] = {
	[EPF_PKT_FRAME] = "frame",
	[EPF_PKT_PACKET] = "packet",
	[EPF_PKT_FLOW] = "flow",
};

#define NAME(names, i) \
	((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : "unknown")

const char *epf_key_kind_name(__u8 kind)
{
	return NAME(kind_names, kind);
}

const char *epf_key_packet_name(__u8 key)
{
	return NAME(packet_keys, key);
}

void epf_key_desc_text(const struct epf_key_desc *d, char text[EPF_DESC_TEXT])
{
	char bytes[24] = "";

	if (d->kind != EPF_KEYS_PACKET) {
		snprintf(text, EPF_DESC_TEXT, "%s", NAME(phrases, d->kind));
		return;
	}
	if (d->max_bytes)
		snprintf(bytes, sizeof(bytes), " --bytes %u", d->max_bytes);
	snprintf(text, EPF_DESC_TEXT, "packets (--key %s%s%s%s%s)",
		 epf_key_packet_name(d->key),
		 d->flags & EPF_PKT_NO_MAC ? " --no-mac" : "",
		 d->flags & EPF_PKT_NO_VLAN ? " --no-vlan" : "",
		 d->flags & EPF_PKT_NONIP_FRAME ? " --nonip frame" : "", bytes);
}
