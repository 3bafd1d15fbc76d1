#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the device suite and the benchmark must notice: each variant is one edit of
# the backend, of a rival, of the benchmark or of the suite, emulated.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CXX=${CXX:-c++}
build=${BUILD:-$PWD/build}
command -v "$CXX" > /dev/null || ktap_skip_all "no $CXX"
[ -x "$build/selftests/cuda/device_emulated" ] || ktap_skip_all 'not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: objects PROGRAM
objects() {
	case $1 in
	bench)
		for unit in cuda/bench/*.cu; do
			echo "$build/bench/gpu/emulated/$(basename "$unit" .cu).o"
		done
		;;
	device) echo "$build"/selftests/cuda/emulated/device.o "$build"/selftests/cuda/emulated/host.o ;;
	rivals)
		echo "$build"/selftests/cuda/emulated/rivals.o "$build"/selftests/cuda/emulated/host.o \
			"$build"/selftests/cuda/emulated/cbf.o
		for unit in classic counting keys run; do
			echo "$build/bench/gpu/emulated/$unit.o"
		done
		;;
	esac
	echo "$build"/cuda/emu/*.o
}

# usage: make_it PROGRAM UNIT FILE EDIT: UNIT, seen from cuda/, is compiled with FILE
# edited; an edit that changes nothing is an error
make_it() {
	rm -rf "$tmp/cuda" && cp -r cuda "$tmp/" && mkdir -p "$tmp/selftests/cuda" || return
	sed "$4" "cuda/$3" > "$tmp/cuda/$3" || return
	! cmp -s "cuda/$3" "$tmp/cuda/$3" || return
	"$CXX" -x c++ -O0 -std=c++17 -w -DEPF_CUDA_EMU -DKEYS=20000ULL -Iinclude -Iinclude/uapi \
		-I"$tmp/cuda" -Iuser/libepf -iquote selftests/cuda \
		-include "$tmp/cuda/bench/emulated.h" -c "$tmp/cuda/$2.cu" -o "$tmp/unit.o" || return
	set -- "$1" "/$(basename "$2").o"
	# shellcheck disable=SC2046 # a list
	"$CXX" "$tmp/unit.o" $(objects "$1" | tr ' ' '\n' | grep -v "$2\$") -o "$tmp/program" \
		-lm -pthread
}

# A claim or a law fails and says so; a crash does not count, nor does a loop.
noticed() {
	timeout 600 "$tmp/program" $1 2>&1 | grep -e '^not ok' -e '^error: broken'
}

# usage: broken WHAT PROGRAM UNIT FILE EDIT
broken() {
	args=
	[ "$2" != bench ] || args=--emulated
	if make_it "$2" "$3" "$4" "$5"; then
		ktap_check "$2: $1" noticed "$args"
	else
		ktap_fail "$2: $1" 'not built'
	fi
}

ktap_plan 7 15
broken 'a wave is left out' rivals bench/classic bench/classic.cu \
	's/i < GE_BITS && left;/i + 1 < GE_BITS \&\& left;/'
ktap_thorough broken 'a segment is not asked' rivals bench/classic bench/classic.cu \
	's/for (s = 0; s < SEGMENTS; s++) {/for (s = 1; s < SEGMENTS; s++) {/'
ktap_thorough broken 'all epochs into one segment' rivals bench/classic bench/classic.cu \
	's/f->now \* epf_ge_stride/0 * epf_ge_stride/'
ktap_thorough broken 'another segment is emptied' rivals bench/classic bench/classic.cu \
	's/word + old \* stride/word + f->now * stride/'
broken 'counters run over' rivals bench/counting bench/counting.cu \
	's/while ((old >> shift & CELL_MAX) != CELL_MAX)/while (1)/'
ktap_thorough broken 'half of the cells' rivals bench/counting bench/counting.cu 's/% CELLS_OF_WORD) \* 4/% 4) * 4/'
broken 'a stream that does not wait for what is set up' rivals ../selftests/cuda/rivals \
	../selftests/cuda/rivals.cu 's/(&bench.stream, 0)/(\&bench.stream, cudaStreamNonBlocking)/'
broken 'epochs half as long' bench bench/filter bench/filter.cu 's|+ epochs - 1) / epochs|) / epochs / 2|'
ktap_thorough broken 'the error is twice as large' bench bench/paper bench/paper.cu 's/return sum \/ (double)m/return sum \/ 2 \/ (double)m/'
broken 'ages of another epoch' bench query query.cu 's/<< (7 - (epoch & 7))/<< (6 - (epoch \& 7) \& 7)/'
ktap_thorough broken 'four threads get the answers of each other' bench query look.cuh \
	's/hits >> 8 \* at/hits >> 8 * ((at + 1) % QUARTERS)/'
ktap_thorough broken 'a tag too old' device insert device.cuh 's/epf_tag(epoch) |/epf_tag(epoch - 8) |/'
broken 'the wrong lane is emptied' device rotate rotate.cu 's/epoch & 7/(epoch + 1) \& 7/'
ktap_thorough broken 'all parts are counted as the first' device tally tally.cu 's/part \* /0 * /'
broken 'other keys are made' device probe probe.cu 's/seed + i, 1)/seed + i, 2)/'
ktap_finish
