#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Every public header compiles alone, and twice, as C and C++, with gcc and clang, without
# a warning; the core's headers also for BPF.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-gcc}
CXX=${CXX:-g++}
CLANG=${CLANG:-clang}
CLANGXX=${CLANGXX:-$CLANG++}
flags='-fsyntax-only -Wall -Wextra -Wpedantic -Werror -Iinclude -Iinclude/uapi'
arch=$(gcc -print-multiarch 2>/dev/null)

# usage: alone NAME COMPILER [FLAG]... HEADER
alone() {
	alone_name=$1
	shift
	if ! command -v "$1" > /dev/null; then
		ktap_skip "$alone_name" "no $1"
		return
	fi
	ktap_check "$alone_name" compile "$@"
}

# usage: compile COMPILER [FLAG]... HEADER
compile() {
	compile_line=
	while [ $# -gt 1 ]; do
		compile_line="$compile_line $1"
		shift
	done
	# shellcheck disable=SC2086 # a list of flags
	printf '#include <%s>\n#include <%s>\n' "$1" "$1" |
		$compile_line $flags -
}

headers='linux/epochfilter.h'
for header in include/epf/*.h; do
	headers="$headers epf/${header##*/}"
done

# shellcheck disable=SC2086 # a list
set -- $headers
ktap_plan $(($# * 5))
for header in $headers; do
	alone "$header: C, $CC" "$CC" -std=gnu11 -x c "$header"
	alone "$header: C, $CLANG" "$CLANG" -std=gnu11 -x c "$header"
	alone "$header: C++, $CXX" "$CXX" -std=gnu++17 -x c++ "$header"
	alone "$header: C++, $CLANGXX" "$CLANGXX" -std=gnu++17 -x c++ "$header"
	alone "$header: BPF, $CLANG" "$CLANG" -target bpf -mcpu=v3 -O2 \
		-isystem "/usr/include/$arch" -std=gnu11 -x c "$header"
done
ktap_finish
