#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What bounds, lanes_bpf and kat_bpf must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

make=${MAKE:-make}
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

# The program of the Makefile over the headers with an edit.
build() {
	edited "$1" || return
	rm -rf "$tmp/build"
	"$make" -s -C selftests/core CC="$CC" BUILD="$tmp/build" \
		DIRS="-I$tmp -I$PWD/include -I$PWD/include/uapi -I$PWD/user/libepf" \
		"$tmp/build/selftests/core/$name" > "$tmp/log" 2>&1 &&
		mv "$tmp/build/selftests/core/$name" "$tmp/$name" && return
	sed 's/^/# /' "$tmp/log"
	return 1
}

# Is there what builds programs of BPF?
has_tools() {
	command -v "${CLANG:-clang}" > /dev/null && [ -x "$bpftool" ] &&
		[ -e /usr/include/bpf/libbpf.h ]
}

# May they be loaded? Where they cannot be built, the next claim says so.
may_load() {
	build '2s/$/ /' || return 0
	"$tmp/$name" > "$tmp/log" 2>&1
	[ $? -ne 4 ]
}

ktap_plan 13
kind bounds 'window lanes geometry hash shim'
whole
broken 'a line that refuses is not told' \
	's/if (EPF_VERIFIED \&\& was == EPF_MOVED)/if (0)/'
broken 'the verdict is told although the key is not kept' \
	's/if (EPF_VERIFIED \&\& !\*e)/if (0)/'
kind laws_window 'window lanes geometry hash shim'
broken 'lanes are not asked for their tags' 's/w, EPF_TAG_MASK);/w, 0);/'
kind lanes_bpf 'window lanes geometry hash shim'
if ! has_tools || ! may_load; then
	for claim in 1 2 3 4 5 6 7 8 9; do
		ktap_skip "BPF: $claim" 'BPF programs cannot be built or loaded here'
	done
	ktap_finish
fi
whole
broken 'an OR tells the word afterwards' \
	's/= __sync_fetch_and_or(p, v);/= __sync_fetch_and_or(p, v) | v;/'
broken 'nobody looks whether a line is missing' \
	's/if (EPF_VERIFIED \&\& !p->line\[j\])/if (0)/'
broken 'loops have no bound' \
	's/(EPF_VERIFIED \&\& (round) >= (most))/((void)(round), 0)/'
broken 'a probe whose line is missing is asked' \
	's/return EPF_VERIFIED \&\& !p->parts;/return false;/'
kind kat_bpf 'kat window lanes geometry hash shim'
whole
broken 'the high half of a product is not folded' 's/return w ^ w >> 32;/return w;/'
broken 'the sixth field is that of the first word' \
	's/epf_fold(w \* EPF_WORD_STEP_4)/epf_fold(w)/'
broken 'a field is of five bits' 's/EPF_FIELD_SHIFT 6/EPF_FIELD_SHIFT 5/'
ktap_finish
