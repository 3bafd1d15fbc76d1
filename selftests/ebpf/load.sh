#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All BPF programs, on this kernel: the installed ones, those for the module only if it is
# loaded, and one of each type that epf.bpf.h supports; then the programs that must load
# without CAP_PERFMON.

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
built=$build/selftests/ebpf
shopt -s extglob
exec "$built/load" "$build"/bpf/!(*_bare).bpf.o "$built/own.bpf.o" "$built/own_cluster.bpf.o" \
	--without-perfmon "$build"/bpf/{epf_match,epf_ops,epf_timer,tc_mark,xdp_dedup_bare,reflex_bare,reflex_tc_bare}.bpf.o
