#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Counts the instructions of sm_90 for 32 keys, as nvcc compiles the kernels. The table is
# build/cuda/instructions.txt; a round of the loop of query<L,N,true> is 32 digests, each
# with L lines of N fields. 260 is the limit for one line of five fields; the other limits
# leave some room above the code of nvcc 13.0.

. "$(dirname "$0")/lib.sh"

card_nvcc 90
table=$BUILD/cuda/instructions.txt

# usage: at_most INSTRUCTIONS L FIELDS [TABLE]: the round has no inner loop, and at most
# so many
at_most() {
	awk -v most="$1" -v kernel="query<$2,$3,true>" '$1 == kernel {
			print; n++; bad = $2 > most || $3
		} END { exit bad || n != 1 }' "${4:-$table}"
}

# usage: loads_first L LATE [TABLE]: at most LATE of the loads of lines come after masks
loads_first() {
	awk -v l="$1" -v late="$2" '$1 ~ "^query<" l ",[2-8],true>" {
			n++; if ($4 != 4 * l || $5 > late) { print; bad = 1 }
		} END { exit bad || n != 7 }' "${3:-$table}"
}

# usage: variant EDIT: prints the table of query's kernels with one edit in epf_look.cuh
variant() {
	rm -rf "$tmp/cuda" && cp -r cuda "$tmp/" && ln -sfn "$PWD/include" "$tmp/include" &&
		sed -i "$1" "$tmp/cuda/epf_look.cuh" &&
		! cmp -s cuda/epf_look.cuh "$tmp/cuda/epf_look.cuh" &&
		make -s -C "$tmp/cuda" OUT="$tmp/variant" COUNTED=query instructions > "$tmp/variant.txt"
}

# usage: notices WHAT EDIT COMMAND [ARG]...: COMMAND rejects the table of a variant
notices() {
	what=$1
	if variant "$2" 2> "$tmp/said"; then
		shift 2
		ktap_refuse "noticed: $what" "$@" "$tmp/variant.txt"
	else
		ktap_fail "noticed: $what" "$(cat "$tmp/said")"
	fi
}

ktap_plan 8 9
ktap_check 'counted' make -s -C cuda instructions
ktap_check 'one line of five fields: at most 260 instructions for 32 keys' at_most 260 1 5
ktap_check 'two lines of four fields: at most 260' at_most 260 2 4
ktap_check 'four lines of four fields: at most 390' at_most 390 4 4
ktap_check 'one line: all loads before the masks' loads_first 1 0
ktap_check 'two lines: all loads before the masks' loads_first 2 0
ktap_check 'four lines: 15 of 16 loads before the masks' loads_first 4 1
notices 'the number of fields is no constant' 's/if (N)/if (0)/' at_most 260 1 5
ktap_thorough notices 'masks before the last load' 's/still = .*/still = 0;/' loads_first 1 0
ktap_finish
