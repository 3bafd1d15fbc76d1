#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What reflex.py must notice: each variant is an epfctl with one edit, of a program that
# it carries or of its own source.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
object=tc programs='reflex reflex_tc' asked=reflex.py
. selftests/ebpf/variants.sh

program=bpf/reflex.bpf.c rules=bpf/epf_rule.bpf.h
ktap_plan 8 16
variant $program '2s/$/ /' || exit 1
ktap_check 'built likewise, all holds' holds 'XDP: each packet'
broken 'plain packets are asked for as they are' include/epf/flow.h \
	's/^\t\tepf_flow_plain_reverse(first, tail);/\t\t;/' 'XDP: each packet'
broken 'what an error carries is matched by its source port' $rules \
	's/sent || found->l3.carried, err/sent, err/' 'XDP: each packet'
broken 'do not know is taken for absent' $rules \
	's/return ret ? reason_of(ret) : EPF_REFLEX_ABSENT/return EPF_REFLEX_ABSENT/' 'overdue: accept'
broken 'an age counts one epoch more' $rules \
	's/ret > rule->within ?/ret > rule->within + 1 ?/' 'epochs, tc'
broken 'what is older is passed' user/epfctl/reflexopts.c \
	's/acts\[EPF_REFLEX_OLDER\] = acts\[EPF_REFLEX_ABSENT\]/(void)0/' 'epochs, tc'
broken 'a mark overwrites other bits' $program \
	's/(skb->mark & ~act->mask) | act->value/act->value/' 'marks leave'
broken 'the qdisc of others is removed' user/epfctl/tc.c \
	's/head->nlmsg_type == NLMSG_DONE/1/' 'qdisc of others'
ktap_thorough broken 'durations are told in other units' user/epfctl/within.c \
	's/while (ns % units/while (ns < units/' 'within a duration'
ktap_thorough broken 'fragments are taken for what has ports' $rules \
	's/return err == -ENOMSG ? NO_PORTS : err;/return err == -ENOMSG ? MATCHED : err;/' 'XDP: each packet'
ktap_thorough broken 'ports are not looked at in place' $program \
	's/epf_be16(sent ? p + 36 : p + 34)/53/' 'XDP: each packet'
ktap_thorough broken 'what is sent is only asked for' $program \
	's/ret = epf_inline_insert(digest, at);/ret = epf_inline_test(digest, at) < 0;/' 'XDP: each packet'
ktap_thorough broken 'a filter that is gone counts as empty' $program \
	's/return EPF_REFLEX_NO_FILTER;$/return EPF_REFLEX_ABSENT;/' 'no_filter: accept'
ktap_thorough broken 'fragments have the verdict of what is not known' user/epfctl/reflexopts.c \
	's/acts\[EPF_REFLEX_FRAGMENT\]/acts[EPF_REFLEX_ERROR]/' 'everything dropped'
ktap_thorough broken 'detached elsewhere, it still drops' user/epfctl/reflex.c \
	's/^\tbpf_map_update_elem(fd, &zero, &state->rule, BPF_ANY);//' 'another network namespace'
ktap_thorough broken 'the qdisc that was made stays' user/epfctl/reflex.c \
	's/^\t\ttc_unmake(conf);/\t\t;/' 'attached and detached'
ktap_finish
