#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What nf.py must notice, and attach.py of marks: each variant is an epfctl with one edit, of
# a program that it carries or of its own source.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
[ "$(printf '%s\n' 6.4 "$(uname -r)" | sort -V | head -n 1)" = 6.4 ] || ktap_skip_all 'Linux 6.4 is needed'
object=nf programs='nf tc_mark' asked=nf.py
. selftests/ebpf/variants.sh

program=bpf/nf.bpf.c rule=user/epfctl/nfopts.c
first='prerouting and postrouting: each'
ktap_plan 8 16
variant $program '2s/$/ /' || exit 1
ktap_check 'built likewise, all holds' holds "$first"
broken 'do not know is taken for absent' bpf/epf_rule.bpf.h \
	's/return ret ? reason_of(ret) : EPF_REFLEX_ABSENT/return EPF_REFLEX_ABSENT/' 'overdue: accept'
broken 'plain packets are asked for as they are' $program \
	's/^\tif (opts->flags & EPF_PKT_REVERSE)/\tif (0)/' "$first"
broken 'an age counts one epoch less' user/epfctl/within.c \
	's/= (__u32)epochs + 1;/= (__u32)epochs;/' 'within so many'
broken 'durations are rounded down' user/epfctl/within.c \
	's/(\*ns + epoch_ns - 1)/*ns/' 'within a duration'
broken 'what is asked is of after the insertion' $program \
	's/^\tret = test(ctx, key);/\tlearn(ctx, key);\n&/' 'asking and learning'
broken 'a link stays' user/epfctl/xdp_pin.c \
	's/ EPF_NF_PIN_IP6,//' 'attached and detached'
ktap_thorough broken 'ports of the other end are matched' $program \
	's/rule->dport ? 48 : 32/rule->dport ? 32 : 48/' "$first"
ktap_thorough broken 'fragments are taken for plain packets' $program \
	's/ && !(p->word\[0\] >> 48 & 0xff3f)//' "$first"
ktap_thorough broken 'what is learnt is only asked for' $program \
	's/int ret = insert(ctx, key);/int ret = test(ctx, key) < 0;/' "$first"
ktap_thorough broken 'what is known is inserted again' $program \
	's/((op & EPF_NF_IF_NEW) && ret > 0)/0/' 'learning'
ktap_thorough broken 'a filter that is gone counts as empty' $program \
	's/return EPF_REFLEX_NO_FILTER;$/return EPF_REFLEX_ABSENT;/' 'no_filter: accept'
ktap_thorough broken 'IPv6 is not attached' user/epfctl/nf.c \
	's/!err && family < NF_FAMILIES; family++/!err \&\& family < 1; family++/' "$first"
ktap_thorough broken 'fragments need not be spoken of' $rule \
	's/if (drops && !reflex->fragments && /if (0 \&\& /' 'refused'
ktap_thorough broken 'marks are taken for accepting' $rule \
	's/^\tif (!bpf || !reflex_marks/\tif (1 || !reflex_marks/' 'refused'
asked=attach.py
broken 'a mark overwrites the bits of others' bpf/tc_mark.bpf.c \
	's/(skb->mark & ~marks.mask) |/0 |/' 'bits of others'
ktap_finish
