# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of packet digests in BPF, for run.

# The program loads, and a property is violated.
law_fails() {
	local pattern=$1
	shift
	"$@" 2>&1 | awk -v pattern="$pattern" '
		{ print }
		/^ok 1 - digest: / { loads = 1 }
		$0 ~ pattern { fails = 1; exit }
		END { exit !(loads && fails) }'
}

# usage: build_digest [bare]
build_digest() {
	local flags=() built=$build/selftests/bpf
	[ $# -eq 0 ] || flags=("${bare_flags[@]}")
	judge=law_fails
	program=("$built/digest" "$copy/digest.bpf.o" "$built/stacks.bin" "$built/first.bpf.o")
	compile_bpf "$copy/selftests/bpf/digest.bpf.c" "$copy/digest.bpf.o" "${flags[@]}" \
		-I"$copy/include" -I"$copy/include/uapi"
}
