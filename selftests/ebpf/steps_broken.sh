#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ebpf/steps must fail where a filter that is pure BPF is broken. Each variant is
# the text with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh
# shellcheck disable=SC2034 # tmp: says.sh's, too
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

CC=${CC:-cc} CLANG=${CLANG:-clang}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
make -s --no-print-directory -C selftests/ebpf all > /dev/null 2>&1
[ -x build/selftests/ebpf/steps ] || ktap_skip_all 'ebpf/steps is not built'

# A copy, with an edit of one file; one that changes nothing is an error.
edited() {
	rm -rf "$tmp/top" && mkdir -p "$tmp/top/build/selftests" "$tmp/top/selftests" || return
	cp -r Makefile VERSION include bpf user "$tmp/top" || return
	cp -r selftests/ebpf selftests/core selftests/suite.mk "$tmp/top/selftests" || return
	cp -r build/bpf build/user "$tmp/top/build" || return
	sed -i "$2" "$tmp/top/$1" || return
	! cmp -s "$1" "$tmp/top/$1"
}

build() {
	edited "$@" && make -s -C "$tmp/top/selftests/ebpf" CC="$CC" CLANG="$CLANG" \
		"$tmp/top/build/selftests/ebpf/steps" > "$tmp/log" 2>&1
}

# usage: broken WHAT PART FILE EDIT: this part of ebpf/steps fails
broken() {
	if build "$3" "$4"; then
		ktap_check "$1" says '^not ok' "$tmp/top/build/selftests/ebpf/steps" "$2"
	else
		ktap_fail "$1" "not built: $(tail -n 1 "$tmp/log")"
	fi
}

ktap_plan 5

broken 'no grace period' grace user/ebpf/rotate.c \
	's/ret = bpf_map_update_elem(f->lines, .*/ret = 0;/'
broken 'a plain store for the CAS' overtaken include/epf/shim.h \
	's/__sync_val_compare_and_swap(p, want, v)/(*(volatile __u64 *)p = v, want)/'
broken 'programs do not look whether they know' flood bpf/epf_inline.bpf.h \
	'/^static __always_inline int epf_inline_knows/,/^}/s/return -E.*;/return 0;/'
broken 'the filter opens later before the epoch is stored' deaths user/ebpf/rotate.c \
	's/^\tepf_rotate(&s->state, now_ns);/\ts->keys_before = keys; set_open_at(f, s);\n&/'
broken 'the room of the epoch before' look user/ebpf/rotate.c \
	's/^\tset_room(f, s); \/\* that of the epoch.*/\tset_open_at(f, s);/'
ktap_finish
