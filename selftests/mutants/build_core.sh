# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the core, for run.

make=${MAKE:-make}
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

# usage: core_cc OUTPUT ARG...: over the edited headers
core_cc() {
	local out=$1
	shift
	"$CC" -O1 -std=gnu11 "-I$copy/include" "-I$copy/include/uapi" -Iuser/libepf "$@" -o "$out"
}

# usage: build_program SOURCE [OPTION]...
build_program() {
	core_cc "$program" "selftests/core/$1.c" "${@:2}"
}

# usage: build_kind KIND [FILE]...: the property tests of a kind, which needs these files
# of user/libepf/kinds besides its own, edited or not
build_kind() {
	local sources=("selftests/core/kind_$1.c") of from=user/libepf/kinds
	[ ! -d "$copy/$from" ] || from=$copy/$from
	for of in "$@"; do
		sources+=("$from/$of.c")
	done
	core_cc "$program" "${sources[@]}" -lm
}

# The prediction that the estimator is compared with is built without mutations.
build_estimator() {
	local of
	if ! [ -d "$tmp/predicts" ]; then
		mkdir "$tmp/predicts" || return
		for of in cover kinds/{ge,gebl,aged,apbf,apbbf,tlbf,dict,elastic}; do
			"$CC" -O1 -std=gnu11 -Iinclude -Iinclude/uapi -Iuser/libepf \
				-c "user/libepf/$of.c" -o "$tmp/predicts/${of##*/}.o" || return
		done
	fi
	core_cc "$program" selftests/core/estimator.c "$tmp"/predicts/*.o -lm
}

# The library plans sizes, and is built without mutations.
build_rooms() {
	local edited=$copy/user/libepf/kinds/compare.c
	[ -e "$edited" ] || edited=
	sed 's|#include "../locked.h"|#include "selftests/locked.h"|
		s|#include "tap.h"|#include "selftests/core/tap.h"|' \
		selftests/core/rooms.c > "$tmp/rooms.c"
	# shellcheck disable=SC2086 # or nothing
	core_cc "$program" -I. "$tmp/rooms.c" $edited "$build/user/libepf.a" -lm -lxxhash -pthread
}

# What reads and writes snapshots, in the byte order that this CPU does not have.
build_order() {
	core_cc "$program" -D_GNU_SOURCE= -DEPF_ORDER_SWAPS='(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)' \
		selftests/core/byte_order.c "$copy"/user/libepf/{order,snap,snap_image}.c "$build/user/libepf.a" \
		-lm -lxxhash -pthread
}

# usage: build_made NAME: the program of the Makefile
build_made() {
	rm -rf "$tmp/build"
	"$make" -s -C selftests/core CC="$CC" BUILD="$tmp/build" \
		DIRS="-I$copy/include -I$copy/include/uapi -I$PWD/user/libepf" \
		"$tmp/build/selftests/core/$1" && mv "$tmp/build/selftests/core/$1" "$program"
}

need_libbpf() {
	[ -x "$bpftool" ] && [ -e /usr/include/bpf/libbpf.h ] || echo 'no bpftool or libbpf'
}
