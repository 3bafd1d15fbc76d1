#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What admit.py and log_new.py must notice: each variant is an epfctl with one edit, of a program that
# it carries or of its own source.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
object=ingress programs='admit log_new' asked=admit.py
. selftests/ebpf/variants.sh

program=bpf/admit.bpf.c
ktap_plan 12 21
variant $program '2s/$/ /' || exit 1
ktap_check 'built likewise, all holds' holds 'the rate is exceeded'
broken 'what had no token is learnt' $program \
	's/return found ? ingress_reason(found) : EPF_INGRESS_LEFT_OUT;/return ingress_insert(ctx, in->rule, p) ? EPF_INGRESS_RECENT : EPF_INGRESS_LEFT_OUT;/' \
	'above the rate: each'
broken 'everything new passes above the rate' $program \
	's/!in->rule->drops : ingress_token(in);/!in->rule->drops : ingress_token(in) || 1;/' 'above the rate: each'
broken 'control packets count for the rate' $program 's/!err || reason >= EPF_INGRESS_UNKNOWN/1/' \
	'the rate is exceeded'
broken 'do not know is taken for absent' $program \
	's/found = ingress_test(p);/found = ingress_test(p) > 0;/' 'overdue: accept'
broken 'the clock stands still' bpf/ingress.bpf.h 's/bpf_ktime_get_coarse_ns()/0/' 'with time'
broken 'detached elsewhere, it still drops' user/epfctl/ingress.c \
	's/rule.rate.limit = ~0ULL;/;/' 'another network namespace'
ktap_thorough broken 'what is malformed is not counted for the rate' $program \
	's/measure(&in, !err || reason >= EPF_INGRESS_UNKNOWN)/measure(\&in, !err)/' 'the rate is exceeded'
ktap_thorough broken 'a token each, whoever has taken it' bpf/ingress.bpf.h \
	's/return epf_bucket_take(fresh, &in->shared->tokens, now);/__u64 own = 0; return epf_bucket_take(fresh, \&own, now);/' \
	'above the rate: each'
ktap_thorough broken 'without a filter control packets are unknown' bpf/ingress.bpf.h \
	's/return err || p->at < EPF_BPF_SLOTS ? err : -ENODEV;/return p->at < EPF_BPF_SLOTS ? err : -ENODEV;/' 'no_filter: drop'
ktap_thorough broken 'admitted peers are not learnt' $program \
	's/ret = ingress_insert(ctx, in->rule, p);/ret = above ? ingress_test(p) : ingress_insert(ctx, in->rule, p);/' \
	'above the rate: each'
ktap_thorough broken 'CPUs keep what is counted to themselves' user/epfctl/ingress.c \
	's/rule.slice = .*/rule.slice = 1000;/' 'the rate is exceeded'
program=bpf/log_new.bpf.c asked=log_new.py
broken 'what is left out is not counted' $program \
	's/: EPF_INGRESS_LEFT_OUT;/: EPF_INGRESS_REASONS;/' 'what is left out'
broken 'every packet has a record' $program 's/^\tif (!ret)$/\tif (ret >= 0)/' 'each flow'
broken 'do not know is recorded' $program 's/^\tif (!ret)$/\tif (ret <= 0)/' 'overdue'
broken 'a full ring is taken for a record' $program 's/return EPF_INGRESS_RING_FULL;/return EPF_INGRESS_NEW;/' \
	'a full ring'
broken 'several read at a time' user/epfctl/cmd_log.c 's/LOCK_EX | LOCK_NB/LOCK_SH | LOCK_NB/' 'one reads'
ktap_thorough broken 'what is left out is told twice' user/epfctl/cmd_log.c 's/^\tl->told = state.*//' 'what is left out'
ktap_thorough broken 'a record too many' user/epfctl/cmd_log.c 's/return l->done ? -ECANCELED : 0;/return 0;/' 'one reads'
ktap_thorough broken 'nobody looks whether it is detached' user/epfctl/cmd_log.c \
	's/^\tif (!attached_yet(l)) {/\tif (0) {/' 'a reader ends'
ktap_thorough broken 'templates are mistaken' user/epfctl/log_ipfix.c 's/f.src4 = ntohl(src4);/f.src4 = ntohl(dst4);/' 'IPFIX'
ktap_finish
