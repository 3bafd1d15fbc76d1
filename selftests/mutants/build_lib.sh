# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the C library, for run.

# The laws of a kind, with another source in place of one of libepf or of the library.
build_laws() {
	local objects=()
	program=(timeout 120 "${program[@]}")
	for object in "$build"/user/obj/lib/*.o; do
		[ "${object##*/}" = bpf.o ] || [ "user/lib/${object##*/}" = "${file%.c}.o" ] || objects+=("$object")
	done
	"$CC" -O0 -w -std=gnu11 -D_GNU_SOURCE= -DEPF_VERSION='"test"' -Iuser -Iuser/libepf -Iuser/lib \
		-Iinclude -Iinclude/uapi -o "${program[2]}" "selftests/$test.c" "$copy/$file" "${objects[@]}" \
		"$build/user/libepf.a" -lxxhash -lm -pthread -ldl
}

need_abidiff() {
	command -v abidiff > /dev/null || echo 'abidiff is missing: make deps'
}

# The shared library, with another header or list of exports.
build_abi() {
	local so=$tmp/libepf.so.1
	script 60 EPF_SO="$so"
	"$CC" -O0 -g -w -std=gnu11 -D_GNU_SOURCE= -DEPF_VERSION='"test"' -fPIC -fvisibility=hidden -shared \
		-I"$copy/user" -Iuser -Iuser/libepf -Iinclude -Iinclude/uapi -Wl,-soname,libepf.so.1 \
		-Wl,--version-script="$copy/user/lib/libepf.map" -o "$so" "$copy"/user/lib/*.c \
		"$build"/user/obj/ebpf/*.o "$build/user/libepf.a" -lxxhash -lm -pthread -ldl -lbpf
}
