#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ebpf/steps, ebpf/slots and ebpf/names must fail where a filter that is pure BPF is
# broken. Each variant is the text with one edit.

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

# usage: build PROGRAM FILE EDIT
build() {
	edited "$2" "$3" && make -s -C "$tmp/top/selftests/ebpf" CC="$CC" CLANG="$CLANG" \
		"$tmp/top/build/selftests/ebpf/$1" > "$tmp/log" 2>&1
}

# On a busy machine a section may be over before it is overtaken: another try.
soon() {
	for _ in 1 2 3 4 5; do "$@" && return; done
	return 1
}

# usage: broken WHAT PROGRAM PART FILE EDIT: this part of it fails
broken() {
	if build "$2" "$4" "$5"; then
		ktap_check "$1" soon says '^not ok' "$tmp/top/build/selftests/ebpf/$2" "$3"
	else
		ktap_fail "$1" "not built: $(tail -n 1 "$tmp/log")"
	fi
}

ktap_plan 10 23

broken 'no grace period' steps grace user/ebpf/rotate.c \
	's/ret = bpf_map_update_elem(f->lines, .*/ret = 0;/'
broken 'a plain store for the CAS' steps overtaken include/epf/shim.h \
	's/__sync_val_compare_and_swap(p, want, v)/(*(volatile __u64 *)p = v, want)/'
broken 'programs do not look whether they know' steps flood bpf/epf_inline.bpf.h \
	'/^static __always_inline int epf_inline_knows/,/^}/s/return -E.*;/return 0;/'
broken 'the filter opens later before the epoch is stored' steps deaths user/ebpf/rotate.c \
	's/^\tepf_rotate(&s->state, now_ns);/\ts->keys_before = keys; set_open_at(f, s);\n&/'
ktap_thorough broken 'the room of the epoch before' steps look user/ebpf/rotate.c \
	's/^\tset_room(f, s); \/\* that of the epoch.*/\tset_open_at(f, s);/'

broken 'what programs count during a swap is not added' slots packets user/ebpf/swap.c \
	's/^\tadd_late(.*//'
ktap_thorough broken 'the same under traffic' slots traffic user/ebpf/swap.c \
	's/^\tadd_late(.*//'
broken 'a slot lacks more than CPUs keep' slots section user/ebpf/rotate.c \
	's/if (has < least)/if (has + kept(f, s) < least)/'
ktap_thorough broken 'contents know while their words are copied' slots packets user/ebpf/swap.c \
	's/^\tebpf_suspend(.*//'
ktap_thorough broken 'keys of a swap that was killed are not measured' slots swap user/ebpf/slots.c \
	's/ret = ebpf_recount(f);/ebpf_resume(f);/'
broken 'what a killed one left is not put in order' slots restore user/ebpf/filter.c \
	's/else if (f->shared->changing)/else if (0)/'
ktap_thorough broken 'half of a swap is taken for all' slots swap user/ebpf/filter.c \
	's/if (f->shared->half)/if (0)/'
ktap_thorough broken 'a batch does not look for half a swap' slots swap user/ebpf/batch.c \
	's/if (!f->shared->half)/if (1)/'
ktap_thorough broken 'half of a swap is told as destroyed' slots swap user/ebpf/ops.c \
	's/f->shared->gone ? -ENODEV : -EUCLEAN/-ENODEV/'
broken 'a swap takes lines from under programs' slots section user/ebpf/swap.c \
	's/ret = ebpf_wait_programs(a);/ret = 0;/'
ktap_thorough broken 'a restore takes lines from under programs' slots section-restore user/ebpf/change.c \
	's/ret = ebpf_wait_programs(f);/ret = 0;/'
ktap_thorough broken 'who mends a swap does not wait for programs' slots section-death user/ebpf/slots.c \
	's/int ret = ebpf_wait_programs(f);/int ret = 0;/'
broken 'a restore is activated before its words are there' slots restore user/ebpf/change.c \
	's/^\t\tret = give_words(f, d, until);/\t\t__atomic_store_n(\&f->shared->active, ebpf_free_slot(f), __ATOMIC_RELEASE); f->shared->active ^= 1;\n&/'
ktap_thorough broken 'a restore keeps the lock while it copies' slots copying user/ebpf/change.c \
	's/ret = fill_draft(d, a) ?: restore(f, d);/ret = ebpf_begin(f) ?: fill_draft(d, a) ?: replace(f, d); ebpf_end(f);/'
ktap_thorough broken 'other contents are overdue when the old ones were' slots overdue user/ebpf/slots.c \
	's/own < until ? own : until/own/'
broken 'who creates does not try again' names all user/ebpf/make.c \
	'/^static int make_own/,/^}/s/tries < MAKE_TRIES/tries < 1/'
ktap_thorough broken 'who creates takes a directory that was swept' names all user/ebpf/make.c \
	's/else if (stat(path.text, &now) || own.st_ino != now.st_ino)/else if (stat(".", \&now))/'
ktap_thorough broken 'a directory has the number of its process alone' names all user/ebpf/make.c \
	's/"~%d-%08x", getpid(), random)/"~%d", getpid())/'
ktap_finish
