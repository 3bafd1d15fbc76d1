#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What reflex.py must notice: each variant is an epfctl with one edit, of a program that
# it carries or of its own source.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CLANG=${CLANG:-clang}
build=${BUILD:-$PWD/build}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
[ -e "$build/user/obj/epfctl/tc.o" ] || ktap_skip_all 'no objects to link with'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

compile() {
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/bpf/$1.bpf.c" -o "$tmp/$1.bpf.o"
}

link() {
	make -s -C user BUILD="$build" BROKEN="$1" BROKEN_OF="$2" BROKEN_OUT="$tmp/epfctl" broken-ctl \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$tmp\"'"
}

# usage: variant FILE EDIT; an edit that changes nothing is an error
variant() {
	rm -rf "${tmp:?}"/* && cp -r include bpf "$tmp" && cp "$build"/bpf/*.bpf.o "$tmp" || return
	sed "$2" "$1" > "$tmp/edited" || return
	! cmp -s "$1" "$tmp/edited" || return
	case $1 in
	user/*)
		mv "$tmp/edited" "$tmp/edited.c" && link "$tmp/edited.c" "$(basename "${1%.c}" | sed 's|^|epfctl/|')"
		;;
	*)
		mv "$tmp/edited" "$tmp/$1" && compile reflex && compile reflex_tc &&
			link epfctl/xdp_obj.c epfctl/xdp_obj
		;;
	esac
}

claim_fails() {
	EPF_CTL=$tmp/epfctl BUILD=$build EPF_PATIENCE=5 timeout 300 selftests/ebpf/reflex.py "$1" | grep '^not ok'
}

holds() {
	EPF_CTL=$tmp/epfctl BUILD=$build timeout 300 selftests/ebpf/reflex.py "$1"
}

# usage: broken WHAT FILE EDIT CLAIM
broken() {
	if variant "$2" "$3"; then
		ktap_check "$1" claim_fails "$4"
	else
		ktap_fail "$1" 'not built'
	fi
}

EPF_BACKEND=bpf "$build/user/epfctl" doctor > /dev/null || ktap_skip_all 'no BPF here'
program=bpf/reflex.bpf.c rules=bpf/epf_rule.bpf.h
ktap_plan 6 13
variant $program '2s/$/ /' || exit 1
ktap_check 'built likewise, all holds' holds 'XDP: each packet'
broken 'plain packets are asked for as they are' include/epf/flow.h \
	's/^\t\tepf_flow_plain_reverse(first, tail);/\t\t;/' 'XDP: each packet'
broken 'what an error carries is matched by its source port' $rules \
	's/sent || found->l3.carried, err/sent, err/' 'XDP: each packet'
broken 'do not know is taken for absent' $program \
	's/return ret ? reason_of(ret) : EPF_REFLEX_ABSENT/return EPF_REFLEX_ABSENT/' 'overdue: accept'
broken 'a mark overwrites other bits' $program \
	's/(skb->mark & ~act->mask) | act->value/act->value/' 'marks leave'
broken 'the qdisc of others is removed' user/epfctl/tc.c \
	's/head->nlmsg_type == NLMSG_DONE/1/' 'qdisc of others'
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
