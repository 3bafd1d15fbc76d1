#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of keys made from flows must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

kind keys 'headers control flow packet keydesc'

build() {
	edited "$1" || return
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi \
		selftests/core/laws_keys.c -o "$tmp/keys"
}

ktap_plan 36
whole
broken 'an answer has the ports of its query' 's/return f->four << 16 | f->four >> 16;/return f->four;/'
broken 'an ICMP answer has the type of its query' 's/epf_icmp_answer(f->proto, f->four & 0xff);/(f->four \& 0xff);/'
broken 'a plain answer is found as it is' 's/^\t\tepf_flow_plain_reverse(first, tail);/\t\t;/'
broken 'a plain answer has the ports of its query' 's/ports = ports << 16 | ports >> 16;/;/'
broken 'time stamps have no answer' 's/((type + 1) ^ 1) - 1/type/'
broken 'nor has echo' 's/type <= 8 ? type ^ 8/type <= 8 ? type/'
broken 'the id of a fragment is turned' 's/^\tif (f->fragment)$/\tif (0)/'
broken 'only half an IPv6 address is exchanged' 's/f->dst\[1\] = low;/f->dst[1] = f->dst[1];/'
broken 'conversations go by half an IPv6 address' 's/if (f->src\[1\] != f->dst\[1\])/if (0)/'
broken 'conversations with oneself go by nothing' 's/return epf_swap64(epf_flow_four_back(f)) < epf_swap64(f->four);/return false;/'
broken 'conversations are flows' 's/back = epf_flow_is_back(f);/back = false;/'
broken 'an error is no answer' 's/epf_flow_turn(f, o, l3->carried);/epf_flow_turn(f, o, false);/'
broken 'errors are looked into whether asked or not' 's/!l3->carried && (o->flags & EPF_PKT_ERRORS)/!l3->carried/'
broken 'errors nest' 's/!l3->carried && (o->flags & EPF_PKT_ERRORS)/!!(o->flags \& EPF_PKT_ERRORS)/'
broken 'redirects are none' 's/(type >= 3 && type <= 5)/(type >= 3 \&\& type <= 4)/'
broken 'nor are parameter problems' 's/type == 11 || type == 12/type == 11/; s/type <= 4;/type <= 3;/'
broken 'what is behind an error belongs to it' 's/ip->end < ip->cap ? ip->end : ip->cap/ip->cap/'
broken 'a prefix ends a bit early' 's/(64 - n)) : 0;/(65 - n)) : 0;/'
broken 'a prefix is no part of the key' 's/f->dst\[0\] = bits;/f->dst[0] = 0;/'
broken 'the port of ICMP is its type' 's/epf_flow_is_icmp(f) ? 0 : 0xffff/0xffff/; s/return errors || f->key <= EPF_PKT_CONVERSATION;/return true;/; s/if (f->key > EPF_PKT_CONVERSATION)/if (0)/'
broken 'the peer has both ports' 's/f->four &= epf_flow_is_icmp(f) ? 0 : 0xffff;/;/'
broken 'a priority is a VLAN' 's/& 0xfff);/\& 0xffff);/'
broken 'a tag without id is a VLAN' 's/(vid + 0xfff) \/ 0x1000 \* 12/12/; s/epf_l3_vlan(l3, \(.*\) & 0xfff)/epf_l3_vlan(l3, (\1 \& 0xfff) + 1)/'
broken 'a mark is an interface' 's/(__u64)s->mark << 32/s->mark/'
broken 'a zone is no part of the key' 's/^\t\tf->scope\[1\] = (__u64)EPF_PKT_ZONE_OF.*/\t\t;/'
broken 'a zone is a mark' 's/(o->flags & EPF_PKT_SCOPES) \/ EPF_PKT_VLAN << 48/(o->flags \& EPF_PKT_ZONE ? 4 : (o->flags \& EPF_PKT_SCOPES) \/ EPF_PKT_VLAN) << 48/'
broken 'records of flows have no zone' 's/^\tepf_flow_scope(&f, NULL, o, NULL);//'
broken 'half of a zone counts' 's/EPF_PKT_ZONE_OF(o->max_bytes) << 32/(EPF_PKT_ZONE_OF(o->max_bytes) \& 0xff) << 32/'
broken 'a mark and a zone are one key' 's/if ((o->flags & EPF_PKT_ZONE) && (o->flags & EPF_PKT_MARK))/if (0)/'
broken 'a zone need not be asked for' 's/if (!(o->flags & EPF_PKT_ZONE) && EPF_PKT_ZONE_OF(o->max_bytes))/if (0)/'
broken 'zones tell filters apart' 's/^\tif (o->flags & EPF_PKT_ZONE)$/\tif (0)/'
broken 'a scope that nobody gave is 0' 's/if (!s)/if (0)/; s/= s->iface/= s ? s->iface : 0/; s/(__u64)s->mark/(__u64)(s ? s->mark : 0)/'
broken 'the first fragment has the key of a fragment' 's/0x1fff | more << 13/0x3fff/; s/0xfff8 | more/0xfff9/'
broken 'peers and flows are alike' 's/(__u32)(f->key - EPF_PKT_FLOW) << 4/0/'
broken 'the way to a key tells filters apart' 's/(EPF_PKT_REVERSE | EPF_PKT_ERRORS)$/0/'
ktap_finish
