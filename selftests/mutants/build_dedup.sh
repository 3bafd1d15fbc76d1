# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of dedup, for run.

build_ctl() {
	script 300 EPFCTL="$tmp/epfctl"
	relink broken-ctl epfctl
}

# The program that reads captures by libwiretap.
build_wiretap() {
	script 300 EPF_WIRETAP="$tmp/epf-wiretap"
	# shellcheck disable=SC2046 # words
	"$CC" -std=gnu11 -O1 -Iuser -Iinclude -Iinclude/uapi "$copy/$file" user/records/ng_put.c -o "$tmp/epf-wiretap" \
		$(pkg-config --cflags wireshark glib-2.0) -lwiretap -lwsutil $(pkg-config --libs glib-2.0)
}

# The table of the exact mode, and its test; usage: build_table [TEST]
build_table() {
	program=(timeout 300 "${program[@]}")
	judge=finishes
	"$CC" -D_GNU_SOURCE= -O1 -w -Iinclude -Iinclude/uapi -Iuser -Iuser/epfctl -Iselftests/dedup \
		-o "${program[2]}" "selftests/dedup/${1:-exact_test}.c" "$copy/$file"
}

# A filter in memory of kind lanes, and its test.
build_mem() {
	program=(timeout 300 "${program[@]}")
	judge=finishes
	"$CC" -O1 -w -Iinclude -Iinclude/uapi -Iuser/libepf -Iselftests -Iselftests/core -o "${program[2]}" \
		selftests/dedup/mem_test.c "$copy/$file" user/libepf/snap_state.c
}

# The digests of the exact mode, and their test.
build_digest() {
	build_table digest_test
}
