#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pinned.py must notice: epfctl pins a program with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CLANG=${CLANG:-clang}
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

link() {
	make -s -C user broken-ctl BROKEN_OUT="$tmp/epfctl" BROKEN="$1" BROKEN_OF="$2" \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$tmp\"'"
}

# usage: build FILE EDIT; an edit that changes nothing is an error
build() {
	rm -rf "${tmp:?}"/* && cp -r include bpf user "$tmp" || return
	sed "$2" "$1" > "$tmp/$1" || return
	! cmp -s "$1" "$tmp/$1" || return
	if [ "${1#user/}" != "$1" ]; then
		link "$tmp/$1" "${1:5:-2}"
		return
	fi
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -DEPF_NO_PERFMON -mllvm -no-stack-slot-sharing \
		-I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/bpf/epf_match.bpf.c" -o "$tmp/epf_match.bpf.o" || return
	link epfctl/cmd_pin.c epfctl/cmd_pin
}

# usage: caught WHAT FILE EDIT CASE: one that fails otherwise does not count
caught() {
	if ! build "$2" "$3" > "$tmp.log" 2>&1; then
		ktap_fail "$1" "not built: $(cat "$tmp.log")"
		return
	fi
	EPF_CTL=$tmp/epfctl selftests/ebpf/pinned.py "$4" > "$tmp.log" 2>&1
	if grep -q "^not ok .*$4" "$tmp.log"; then
		ktap_ok "$1"
	elif grep -q '^1..0 # SKIP' "$tmp.log"; then
		ktap_skip "$1" "$(sed -n 's/.*# SKIP //p' "$tmp.log")"
	else
		ktap_fail "$1" "$(cat "$tmp.log")"
	fi
}

ktap_cleanup rm -f "$tmp.log"
ktap_plan 5 7
caught 'what is unknown counts as new' include/epf/rule.h \
	's/^	if (ret < 0)$/	if (0)/' 'gone: --unknown accept'
caught 'learn-new inserts everything' bpf/epf_match.bpf.c \
	's/^	if (ret <= 0 &&/	if (/' 'recent, new'
caught 'all packets are counted as recent' bpf/epf_match.bpf.c \
	's/count(epf_forget(reason_of(ret, /count(epf_forget(reason_of(1, /' 'recent, new'
caught 'a record whose pin was removed stays' user/epfctl/pin.c \
	's/^	sweep();$//' 'forgotten'
caught 'a pin that was removed holds its filter' user/epfctl/xdp_uses.c \
	's/ valid(names\[i\])) {/ true) {/' 'a pin holds its filter'
ktap_thorough caught 'an epoch less' include/epf/rule.h \
	's/age <= r->within/age < r->within/' 'recent, new'
ktap_thorough caught 'the key that a packet has without --reverse' bpf/epf_match.bpf.c \
	's/^	ret = epf_xdp_flow/	ask.opts.flags = 0;&/' 'keys are those of the model'
ktap_finish
