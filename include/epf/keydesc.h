/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of keys (struct epf_key_desc): which are valid, and how to combine two of
 * them. For the module and for readers of snapshots.
 */
#ifndef EPF_KEYDESC_H
#define EPF_KEYDESC_H

#include "packet.h"

#include <linux/epochfilter.h>

/* The options of a packet key in a description: everything but the link. */
EPF_FN struct epf_pkt_opts epf_key_desc_opts(const struct epf_key_desc *d)
{
	struct epf_pkt_opts o;

	o.key = d->key;
	o.link = EPF_LINK_ETHER;
	o.flags = d->flags;
	o.max_bytes = d->max_bytes;
	return o;
}

/* The description of packet keys; the zone number is no part of it. */
EPF_FN struct epf_key_desc epf_key_desc_packet(const struct epf_pkt_opts *o)
{
	struct epf_key_desc d;

	d.kind = EPF_KEYS_PACKET;
	d.key = o->key;
	d.flags = o->flags;
	d.max_bytes = o->max_bytes;
	if (o->flags & EPF_PKT_ZONE)
		d.max_bytes -= EPF_PKT_IN_ZONE(EPF_PKT_ZONE_OF(d.max_bytes));
	return d;
}

/* The description of keys that are not packets. */
EPF_FN struct epf_key_desc epf_key_desc_plain(__u8 kind)
{
	struct epf_key_desc d;

	d.kind = kind;
	d.key = 0;
	d.flags = 0;
	d.max_bytes = 0;
	return d;
}

/**
 * epf_key_desc_check() - is the description valid?
 * @d: any bytes
 *
 * Return: 0, or -EINVAL: an unknown kind, packet options that no key has, the number of a
 * zone, or options for a kind that has none.
 */
EPF_FN int epf_key_desc_check(const struct epf_key_desc *d)
{
	struct epf_pkt_opts o = epf_key_desc_opts(d);

	if (d->kind == EPF_KEYS_PACKET && (d->flags & EPF_PKT_ZONE) &&
	    EPF_PKT_ZONE_OF(d->max_bytes))
		return -EINVAL;
	if (d->kind == EPF_KEYS_PACKET)
		return epf_pkt_opts_check(&o);
	if (d->kind > EPF_KEYS_MAX || d->key || d->flags || d->max_bytes)
		return -EINVAL;
	return 0;
}

/* Flags that say how a key is found, and not what it is: the same key is inserted with and
 * without them.
 */
#define EPF_KEY_DESC_WAYS (EPF_PKT_REVERSE | EPF_PKT_ERRORS)

EPF_FN bool epf_key_desc_equal(const struct epf_key_desc *a, const struct epf_key_desc *b)
{
	return a->kind == b->kind && a->key == b->key &&
	       !((a->flags ^ b->flags) & ~EPF_KEY_DESC_WAYS) && a->max_bytes == b->max_bytes;
}

/**
 * epf_key_desc_join() - the description after keys of @b are added to a filter
 * @a: of the filter, valid
 * @b: of the keys, valid
 *
 * Return: the description of all keys.
 */
EPF_FN struct epf_key_desc epf_key_desc_join(const struct epf_key_desc *a,
					     const struct epf_key_desc *b)
{
	if (a->kind == EPF_KEYS_UNKNOWN)
		return *b;
	if (b->kind == EPF_KEYS_UNKNOWN || epf_key_desc_equal(a, b))
		return *a;
	return epf_key_desc_plain(EPF_KEYS_MIXED);
}

/**
 * epf_key_desc_serves() - may keys of @b be among those of @a?
 * @a: of a filter
 * @b: of the keys that are looked up
 *
 * Keys of packets do not depend on whether other packets, such as control packets, have a
 * key. Unknown or mixed keys may be anything, and so may a digest.
 */
EPF_FN bool epf_key_desc_serves(const struct epf_key_desc *a, const struct epf_key_desc *b)
{
	if (a->kind == EPF_KEYS_PACKET && b->kind == EPF_KEYS_PACKET)
		return a->key == b->key && a->max_bytes == b->max_bytes &&
		       !((a->flags ^ b->flags) &
			 ~(EPF_PKT_NONIP_FRAME | EPF_PKT_PASS_CONTROL | EPF_KEY_DESC_WAYS));
	return a->kind == b->kind || a->kind == EPF_KEYS_UNKNOWN || a->kind == EPF_KEYS_MIXED ||
	       a->kind == EPF_KEYS_DIGEST || b->kind == EPF_KEYS_UNKNOWN ||
	       b->kind == EPF_KEYS_DIGEST;
}

#endif /* EPF_KEYDESC_H */
