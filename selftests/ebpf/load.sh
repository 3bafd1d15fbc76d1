#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All BPF programs, on this kernel: the installed ones, those for the module only if it is
# loaded, and one of each type that epf.bpf.h supports; then the programs that must load
# without CAP_PERFMON.

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
built=$build/selftests/ebpf
shopt -s extglob
bare=("$build"/bpf/{epf_match,epf_ops,epf_timer,tc_mark,xdp_dedup_bare,reflex_bare,reflex_tc_bare}.bpf.o)
# Of the guests of "make check" the one with the real-time flavour of 6.12 has the verifier of the stock
# kernel; so the stock one loads what the other cannot: timers, and what calls the module.
case ${EPF_VM:+guest}${EPF_KERNELS:+ all}${EPF_THOROUGH:+ all}:$(uname -rv) in
*PREEMPT_RT*) ;;
guest:6.12.*)
	exec "$built/load" "$build"/bpf/epf_timer.bpf.o --calling-module \
		"$build"/bpf/!(*_bare|epf_timer).bpf.o --without-perfmon "$build"/bpf/epf_timer.bpf.o ;;
esac
exec "$built/load" "$build"/bpf/!(*_bare).bpf.o "$built/own.bpf.o" "$built/own_cluster.bpf.o" \
	--without-perfmon "${bare[@]}"
