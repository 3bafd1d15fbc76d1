# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the emulated card and of libepf's side of it, for run.

gpu_cc() {
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -w -Iuser/libepf "$@" -Iinclude -Iinclude/uapi \
		-Icuda "$build/user/libepf.a" -o "$tmp/program" -lxxhash -lm -pthread -ldl
}

# usage: on_card LIBRARY PROGRAM: the test runs with this library
on_card() {
	program=(env EPF_CUDA_LIBRARY="$1" timeout 3000 "$2" "$build/selftests/gpu/wrong.so")
	judge=finishes
}

# The library for the card, with one source compiled again.
build_card() {
	local unit=${file##*/}
	unit=${unit%.cu}
	on_card "$tmp/card.so" "$build/selftests/gpu/engine"
	"$CXX" -x c++ -std=c++17 -O1 -w -fPIC -fvisibility=hidden -DEPF_CUDA_EMU -Iinclude \
		-Iinclude/uapi -Iuser/lib -Icuda -c "$copy/$file" -o "$tmp/$unit.o" || return
	# shellcheck disable=SC2046 # a list
	"$CXX" -shared -o "$tmp/card.so" "$tmp/$unit.o" \
		$(printf '%s\n' "$build"/cuda/emu/*.o | grep -v "/$unit\.o$") -pthread
}

# Engine cuda of libepf; the linker takes the rest from libepf.
build_side() {
	on_card "$build/cuda/libepf_cuda_emu.so" "$tmp/program"
	gpu_cc selftests/gpu/engine.c selftests/gpu/process.c selftests/gpu/devices.c "$copy/$file"
}

build_mirror() {
	on_card "$build/cuda/libepf_cuda_emu.so" "$tmp/program"
	sed "s|\"../../user/libepf/mirror.c\"|\"$copy/$file\"|; s|\"../../user/|\"$PWD/user/|; s|\"../audit/|\"|" \
		selftests/gpu/mirrors.c > "$tmp/mirrors.c" || return
	gpu_cc -Iselftests/audit "$tmp/mirrors.c"
}
