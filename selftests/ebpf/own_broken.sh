#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What own.c must notice: each variant is its programs with one edit of the headers.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

build=${BUILD:-$PWD/build}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
[ -x "$build/selftests/ebpf/own" ] || ktap_skip_all 'needs selftests/ebpf/own'
EPF_BACKEND=bpf "$build/user/epfctl" doctor > /dev/null || ktap_skip_all 'no BPF here'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: compile NAME
compile() {
	${CLANG:-clang} -target bpf -mcpu=v3 -O2 -g -w -I"$tmp/bpf" -Iinclude -Iinclude/uapi \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "selftests/ebpf/$1.bpf.c" -o "$tmp/$1.bpf.o"
}

# usage: variant FILE EDIT; an edit that changes nothing is an error
variant() {
	rm -rf "$tmp/bpf"
	cp -r bpf "$tmp/" && sed -i "$2" "$tmp/bpf/$1" &&
		! cmp -s "bpf/$1" "$tmp/bpf/$1" && compile own && compile own_sleep
}

# Claim $1 fails.
fails() {
	EPF_PATIENCE=${2:-15} BUILD=$build OWN=$tmp/own.bpf.o OWN_SLEEP=$tmp/own_sleep.bpf.o \
		selftests/ebpf/own.sh > "$tmp/log" 2>&1
	grep '^not ok' "$tmp/log" | grep -qE "$1" || { cat "$tmp/log"; return 1; }
}

# usage: broken WHAT FILE EDIT CLAIM
broken() {
	if variant "$2" "$3"; then
		ktap_check "$1" fails "$4"
	else
		ktap_fail "$1" 'not built'
	fi
}

ktap_plan 4 8
ktap_thorough ktap_check 'without an edit nothing fails' eval \
	'variant epf.bpf.h "\$a/* */" && ! fails . 60 > /dev/null && grep -q "^ok 38" "$tmp/log"'
broken 'programs that may sleep are let in' epf_own_inline.bpf.h \
	'/__asm__ volatile/d' 'sleep_syscall is refused'
ktap_thorough broken 'digests are not of the whole key' epf_own_inline.bpf.h \
	's/= epf_digest(&slot->hash, key, len)/= epf_digest(\&slot->hash, key, len - 1)/' \
	'what it inserts epfctl finds'
ktap_thorough broken 'an insertion only asks' epf_own_inline.bpf.h \
	's/epf_inline_insert(digest, at)/epf_inline_test(digest, at)/' \
	'what it inserts epfctl finds'
broken 'test and insert only asks' epf_own_inline.bpf.h \
	's/epf_inline_test_and_insert(digest, at)/epf_inline_test(digest, at)/' \
	'the first is absent, the second present'
broken 'what is present is inserted, new or not' epf.bpf.h \
	's/return !verdict || /return verdict >= 0 || /' 'if it is new keeps its age'
ktap_thorough broken 'whoever asks about a packet inserts it' epf_own_inline.bpf.h \
	's/: epf_inline_test(digest, at);/: epf_inline_test_and_insert(digest, at);/' \
	'and not where it is asked for'
broken 'a filter that is gone is used on' epf_inline.bpf.h 's/ || table->gone//' \
	'destroyed by force'
ktap_finish
