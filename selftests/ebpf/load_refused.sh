#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The message of attach about a program that does not load, from an epfctl that contains
# mutant ebpf/load-unbounded.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/mutants/lib.sh

load=$build/selftests/ebpf/load
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: compile PROGRAM [OPTION]...
compile() {
	compile_bpf "$tmp/bpf/$1.bpf.c" "$tmp/$1.bpf.o" "${@:2}" -I"$tmp/include" \
		-I"$tmp/include/uapi"
}

# Builds an epfctl that contains the mutant: only the BPF objects differ.
carry() {
	local obj
	for obj in "$build"/bpf/*.bpf.o; do
		[ -e "$tmp/${obj##*/}" ] || cp "$obj" "$tmp" || return
	done
	make -s -C user BUILD="$build" BROKEN=epfctl/xdp_obj.c BROKEN_OF=epfctl/xdp_obj \
		BROKEN_OUT="$tmp/epfctl" broken-ctl \
		CPPFLAGS="-UEPF_BPF_OUT -DEPF_BPF_OUT='\"$tmp\"'"
}

# usage: refused OPTION...: one line names kernel, program and reason, and nothing is left
refused() {
	nsenter --net="/run/netns/$ns" "$tmp/epfctl" --backend bpf attach lo --no-vlan "$@" > "$tmp/said" 2>&1
	[ $? -eq 2 ] && [ "$(wc -l < "$tmp/said")" -eq 1 ] &&
		grep "'lo': the verifier of Linux $(uname -r) refuses program xdp_dedup, so packets pass: R4" "$tmp/said" &&
		! ip -n "$ns" link show lo | grep xdp && ! [ -e /sys/fs/bpf/epochfilter/lo ]
}

refused_bare() {
	nsenter --net="/run/netns/$ns" setpriv --inh-caps=-all --bounding-set=-all,+bpf,+net_admin \
		"$tmp/epfctl" --backend bpf attach lo --no-vlan --no-dispatcher > "$tmp/said" 2>&1
	[ $? -eq 2 ] && [ "$(wc -l < "$tmp/said")" -eq 1 ] &&
		grep "needs CAP_PERFMON on Linux $(uname -r), whose verifier refuses program [a-z_]* without it: ." "$tmp/said" &&
		! ip -n "$ns" link show lo | grep xdp && ! [ -e /sys/fs/bpf/epochfilter/lo ]
}

cp -r include bpf "$tmp" || exit 1
selftests/mutants/table.py apply ebpf/load-unbounded "$tmp/bpf/epf_packet.bpf.h" &&
	compile xdp_dedup_inline && compile xdp_dedup_bare "${bare_flags[@]}" || exit 1
"$load" "$tmp/xdp_dedup_inline.bpf.o" > /dev/null 2>&1
[ $? -ne 4 ] || ktap_skip_all 'loading BPF programs is not permitted'
ktap_plan 4
ns=epf-load-$$
ip netns add "$ns" && ktap_cleanup ip netns del "$ns"
ktap_check 'an epfctl with that program' carry
ktap_check 'attach names kernel, program and reason; nothing is left' refused --no-dispatcher
ktap_check 'likewise by the dispatcher' refused
ktap_check 'without CAP_PERFMON, and the capability' refused_bare
ktap_finish
