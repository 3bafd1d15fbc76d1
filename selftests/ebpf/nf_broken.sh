#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What nf.py must notice, and attach.py of marks: each variant is an epfctl with one edit, of
# a program that it carries or of its own source.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CLANG=${CLANG:-clang}
build=${BUILD:-$PWD/build}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
[ -e "$build/user/obj/epfctl/nf.o" ] || ktap_skip_all 'no objects to link with'
[ "$(printf '%s\n' 6.4 "$(uname -r)" | sort -V | head -n 1)" = 6.4 ] || ktap_skip_all 'Linux 6.4 is needed'
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
		mv "$tmp/edited" "$tmp/$1" && compile nf && compile tc_mark &&
			link epfctl/xdp_obj.c epfctl/xdp_obj
		;;
	esac
}

claim_fails() {
	EPF_CTL=$tmp/epfctl BUILD=$build EPF_PATIENCE=5 timeout 300 "selftests/ebpf/$asked" "$1" | grep '^not ok'
}

holds() {
	EPF_CTL=$tmp/epfctl BUILD=$build timeout 300 selftests/ebpf/nf.py "$1"
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
asked=nf.py program=bpf/nf.bpf.c rule=user/epfctl/nfopts.c
first='prerouting and postrouting: each'
ktap_plan 8 16
variant $program '2s/$/ /' || exit 1
ktap_check 'built likewise, all holds' holds "$first"
broken 'do not know is taken for absent' $program \
	's/return ret ? reason_of(ret) : EPF_REFLEX_ABSENT/return EPF_REFLEX_ABSENT/' 'overdue: accept'
broken 'plain packets are asked for as they are' $program \
	's/^\tif (opts->flags & EPF_PKT_REVERSE)/\tif (0)/' "$first"
broken 'an age counts one epoch less' $rule \
	's/= (__u32)epochs + 1;/= (__u32)epochs;/' 'within so many'
broken 'durations are rounded down' $rule \
	's/(ns + epoch_ns - 1)/ns/' 'within a duration'
broken 'what is asked is of after the insertion' $program \
	's/^\tret = epf_inline_test(digest, at);/\tlearn(digest, at);\n&/' 'asking and learning'
broken 'a link stays' user/epfctl/xdp_pin.c \
	's/ EPF_NF_PIN_IP6,//' 'attached and detached'
ktap_thorough broken 'ports of the other end are matched' $program \
	's/rule->dport ? 48 : 32/rule->dport ? 32 : 48/' "$first"
ktap_thorough broken 'fragments are taken for plain packets' $program \
	's/ && !(p->word\[0\] >> 48 & 0xff3f)//' "$first"
ktap_thorough broken 'what is learnt is only asked for' $program \
	's/int ret = epf_inline_insert(digest, at);/int ret = epf_inline_test(digest, at) < 0;/' "$first"
ktap_thorough broken 'what is known is inserted again' $program \
	's/((op & EPF_NF_IF_NEW) && ret > 0)/0/' 'learning'
ktap_thorough broken 'a filter that is gone counts as empty' $program \
	's/return EPF_REFLEX_NO_FILTER;$/return EPF_REFLEX_ABSENT;/' 'no_filter: accept'
ktap_thorough broken 'IPv6 is not attached' user/epfctl/nf.c \
	's/!err && family < NF_FAMILIES; family++/!err \&\& family < 1; family++/' "$first"
ktap_thorough broken 'fragments need not be spoken of' $rule \
	's/if (drops && !reflex->fragments && /if (0 \&\& /' 'refused'
ktap_thorough broken 'marks are taken for accepting' $rule \
	's/if (reflex_marks(&rule->of))/if (0)/' 'refused'
asked=attach.py
broken 'a mark overwrites the bits of others' bpf/tc_mark.bpf.c \
	's/(skb->mark & ~marks.mask) |/0 |/' 'bits of others'
ktap_finish
