# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of dedup, for run.

build_ctl() {
	script 300 EPFCTL="$tmp/epfctl"
	relink broken-ctl epfctl
}

# The table of the exact mode, and its test; usage: build_table [TEST]
build_table() {
	program=(timeout 300 "${program[@]}")
	judge=finishes
	"$CC" -D_GNU_SOURCE= -O1 -w -Iinclude -Iinclude/uapi -Iuser -Iuser/epfctl -Iselftests/dedup \
		-o "${program[2]}" "selftests/dedup/${1:-exact_test}.c" "$copy/$file"
}

# The digests of the exact mode, and their test.
build_digest() {
	build_table digest_test
}
