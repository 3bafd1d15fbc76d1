#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What load must notice: each variant is the program of attach, or of the timer, with one
# edit. And what attach says of one that does not load.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CLANG=${CLANG:-clang}
build=${BUILD:-$PWD/build}
load=$build/selftests/ebpf/load
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

flags=''
bare_flags='-DEPF_NO_PERFMON -mllvm -no-stack-slot-sharing' # as bpf/Makefile has it
# usage: compile PROGRAM
compile() {
	local prog=$1
	# shellcheck disable=SC2086 # several
	"$CLANG" -target bpf -mcpu=v3 -O2 -g $flags -I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/bpf/$prog.bpf.c" -o "$tmp/$prog.bpf.o"
}

# usage: build FILE EDIT [PROGRAM]; an edit that changes nothing is an error
build() {
	rm -rf "${tmp:?}"/* && cp -r include bpf "$tmp" || return
	sed "$2" "$1" > "$tmp/$1" || return
	! cmp -s "$1" "$tmp/$1" || return
	compile "${3:-xdp_dedup_inline}"
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

# usage: needs_perfmon WHAT FILE EDIT TEXT: the timer loads, but not without CAP_PERFMON
needs_perfmon() {
	local what="load: without CAP_PERFMON, $1" timer=$tmp/epf_timer.bpf.o
	if ! build "$2" "$3" epf_timer; then
		ktap_fail "$what" 'not built'
		return
	fi
	"$load" "$timer" --without-perfmon "$timer" > "$tmp/out" 2>&1
	if grep -q 'bpf_timer cannot be used for PREEMPT_RT' "$tmp/out"; then
		ktap_skip "$what" 'a PREEMPT_RT kernel'
	else
		ktap_check "$what" eval 'grep "^ok 1" "$tmp/out" && grep "^\(not ok 2 .*\|ok 2 .*# SKIP .*\)'"$4"'" "$tmp/out"'
	fi
}

# usage: bare_refused PROGRAM COUNT FILE EDIT: so many programs of the form without
# CAP_PERFMON, with an edit, add different numbers to a pointer
bare_refused() {
	flags=$bare_flags
	build "$3" "$4" "$1"
	local rc=$?
	flags=
	[ $rc -eq 0 ] || return
	"$load" --without-perfmon "$tmp/$1.bpf.o" > "$tmp/out" 2>&1
	[ "$(grep -c '^not ok .*different maps, paths' "$tmp/out")" -eq "$2" ]
}

forgets() {
	bare_refused reflex_tc_bare 2 include/epf/shim.h \
		'/^EPF_FN __u32 epf_forget(/,/^}/s/^#if .*/#if 0/'
}

one_path() {
	bare_refused xdp_dedup_bare 3 include/epf/flow.h \
		'/^\t\tk->word\[i + 2\] = held;/,/^\t\treturn 8/c\\t\ti += 2;'
}

# usage: bare WHAT FUNCTION
bare() {
	local what="load: without CAP_PERFMON, $1"
	if [ "$(printf '%s\n' 6.18 "$(uname -r)" | sort -V | head -n 1)" = 6.18 ]; then
		ktap_check "$what" "$2"
	else
		ktap_skip "$what" 'this kernel needs CAP_PERFMON'
	fi
}

# An epfctl that carries the variant: all of it is as built, but for the objects.
carry() {
	local obj
	for obj in "$build"/bpf/*.bpf.o; do
		[ -e "$tmp/${obj##*/}" ] || cp "$obj" "$tmp" || return
	done
	make -s -C user BUILD="$build" BROKEN=epfctl/xdp_obj.c BROKEN_OF=epfctl/xdp_obj \
		BROKEN_OUT="$tmp/epfctl" broken-ctl \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$tmp\"'"
}

# usage: refused OPTION...: one line names kernel, program and reason; nothing is left
refused() {
	nsenter --net="/run/netns/$ns" "$tmp/epfctl" --backend bpf attach lo --no-vlan "$@" > "$tmp/said" 2>&1
	[ $? -eq 2 ] && [ "$(wc -l < "$tmp/said")" -eq 1 ] &&
		grep "'lo': packets pass, as the verifier of Linux $(uname -r) refuses program xdp_dedup: R4" "$tmp/said" &&
		! ip -n "$ns" link show lo | grep xdp && ! [ -e /sys/fs/bpf/epochfilter/lo ]
}

refused_bare() {
	nsenter --net="/run/netns/$ns" setpriv --inh-caps=-all --bounding-set=-all,+bpf,+net_admin \
		"$tmp/epfctl" --backend bpf attach lo --no-vlan --no-dispatcher > "$tmp/said" 2>&1
	[ $? -eq 2 ] && [ "$(wc -l < "$tmp/said")" -eq 1 ] &&
		grep "needs CAP_PERFMON on Linux $(uname -r), whose verifier refuses program [a-z_]* without it: ." "$tmp/said" &&
		! ip -n "$ns" link show lo | grep xdp && ! [ -e /sys/fs/bpf/epochfilter/lo ]
}

build bpf/epf_packet.bpf.h '2s/$/ /' || exit 1
ask
[ $? -ne 4 ] || ktap_skip_all 'loading BPF programs is not permitted'
ktap_plan 10
ktap_check 'load: built likewise, all loads' ask
broken 'above 100,000 instructions' include/epf/headers.h \
	's/#define EPF_IP6_EXT_MAX 8/#define EPF_IP6_EXT_MAX 64/' \
	': [1-9][0-9]\{5\} instructions verified'
broken 'bytes whose number is not bounded' bpf/epf_packet.bpf.h \
	's/return last < most &&/return/' 'does not load here: Permission denied: R4'
needs_perfmon 'a search with branches' include/epf/capacity.h \
	's/low += epf_opaque.*/if (x[low + step] <= v) low += step;/' 'different maps, paths'
bare 'nothing is forgotten' forgets
bare 'the lengths of keys share a path' one_path
build bpf/epf_packet.bpf.h 's/return last < most &&/return/' || exit 1
flags=$bare_flags compile xdp_dedup_bare || exit 1
ns=epf-load-$$
ip netns add "$ns" && ktap_cleanup ip netns del "$ns"
ktap_check 'an epfctl with that program' carry
ktap_check 'attach names kernel, program and reason; nothing is left' refused --no-dispatcher
ktap_check 'likewise by the dispatcher' refused
ktap_check 'without CAP_PERFMON, and the capability' refused_bare
ktap_finish
