#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ebpf/timer must fail where the timer that ends epochs is broken. Each variant is the
# text with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh
# shellcheck disable=SC2034 # tmp: says.sh's, too
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

CC=${CC:-cc} CLANG=${CLANG:-clang}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
case $(uname -v) in *PREEMPT_RT*) ktap_skip_all 'no timers on PREEMPT_RT' ;; esac
[ -x build/selftests/ebpf/timer ] || ktap_skip_all 'ebpf/timer is not built'
export EPF_PATIENCE=4

# A copy, with an edit of one file; one that changes nothing is an error.
edited() {
	rm -rf "$tmp/top" && mkdir -p "$tmp/top/build/selftests" "$tmp/top/selftests" || return
	cp -r Makefile VERSION include bpf user "$tmp/top" || return
	cp -r selftests/ebpf selftests/core selftests/suite.mk "$tmp/top/selftests" || return
	cp -r build/bpf build/user "$tmp/top/build" || return
	sed -i "$2" "$tmp/top/$1" || return
	! cmp -s "$1" "$tmp/top/$1"
}

# usage: build FILE EDIT
build() {
	edited "$1" "$2" && make -s -C "$tmp/top/bpf" BUILD="$tmp/top/build" CLANG="$CLANG" \
		> "$tmp/log" 2>&1 &&
		make -s -C "$tmp/top/selftests/ebpf" CC="$CC" CLANG="$CLANG" CFLAGS=-O0 \
			"$tmp/top/build/selftests/ebpf/timer" > "$tmp/log" 2>&1
}

# usage: broken WHAT PART FILE EDIT: this part of it fails
broken() {
	if build "$3" "$4"; then
		ktap_check "$1" says '^not ok' "$tmp/top/build/selftests/ebpf/timer" "$2"
	else
		ktap_fail "$1" "not built: $(tail -n 1 "$tmp/log")"
	fi
}

ktap_plan 3 6
broken 'the timer looks for no sections' section0 bpf/epf_timer.bpf.c \
	's/if (!epf_load(&cpu->inside))/if (1)/'
broken 'it looks at one CPU' section1 bpf/epf_timer.bpf.c 's/\.nr = table->cpus/.nr = 1/'
ktap_thorough broken 'sections do not count themselves' section0 bpf/epf_inline.bpf.h \
	's/if (!epf_load(&f->slot->timed))/if (1)/;s/if (epf_load(&f->slot->timed))/if (0)/'
ktap_thorough broken 'programs do not look whether they know' stopped bpf/epf_inline.bpf.h \
	'/^static __always_inline int epf_inline_knows/,/^}/s/return -E.*;/return 0;/'
broken 'an epoch may take any number of keys' flood bpf/epf_timer.bpf.c \
	's/s->room = limited ? epf_tick_room(at) : EPF_BPF_NO_LIMIT;/s->room = EPF_BPF_NO_LIMIT;/'
ktap_thorough broken 'it does not see that the filter is changed' changed bpf/epf_timer.bpf.c \
	's/if (\*(volatile __u32 \*)&table->changing ||/if (/'
ktap_finish
