#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What load must notice: each variant is the program of attach with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CLANG=${CLANG:-clang}
load=${BUILD:-$PWD/build}/selftests/ebpf/load
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build FILE EDIT; an edit that changes nothing is an error
build() {
	rm -rf "${tmp:?}"/* && cp -r include bpf "$tmp" || return
	sed "$2" "$1" > "$tmp/$1" || return
	! cmp -s "$1" "$tmp/$1" || return
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/bpf/xdp_dedup_inline.bpf.c" -o "$tmp/xdp_dedup_inline.bpf.o"
}

ask() {
	"$load" "$tmp/xdp_dedup_inline.bpf.o" > "$tmp/out" 2>&1
}

# usage: told TEXT: of each program there is a failed claim that matches
told() {
	ask
	[ "$(grep -c "^not ok [1-3] - xdp_dedup_inline: xdp_dedup.*$1" "$tmp/out")" -eq 3 ]
}

# usage: broken WHAT FILE EDIT TEXT
broken() {
	if build "$2" "$3"; then
		ktap_check "load: $1" told "$4"
	else
		ktap_fail "load: $1" 'not built'
	fi
}

build bpf/epf_packet.bpf.h '2s/$/ /' || exit 1
ask
[ $? -ne 4 ] || ktap_skip_all 'loading BPF programs is not permitted'
ktap_plan 3
ktap_check 'load: built likewise, all loads' ask
broken 'above 100,000 instructions' include/epf/headers.h \
	's/#define EPF_IP6_EXT_MAX 8/#define EPF_IP6_EXT_MAX 64/' \
	': [1-9][0-9]\{5\} instructions verified'
broken 'bytes whose number is not bounded' bpf/epf_packet.bpf.h \
	's/return last < most &&/return/' 'does not load here: Permission denied: R4'
ktap_finish
