# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the C library, for run.

# The laws of a kind, with another source in place of one of libepf.
build_laws() {
	program=(timeout 120 "${program[@]}")
	"$CC" -O0 -w -std=gnu11 -D_GNU_SOURCE= -Iuser -Iuser/libepf -Iuser/lib \
		-Iinclude -Iinclude/uapi -o "${program[2]}" selftests/lib/laws.c "$copy/$file" \
		"$build"/user/obj/lib/{error,args,plan,info,filter,snapshot,merge,kernel}.o \
		"$build/user/libepf.a" -lxxhash -lm -pthread -ldl
}
