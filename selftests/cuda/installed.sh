#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The GPU library as programs get it: "make install" of it and of the C library in a folder,
# then exports, headers, and the example, built against them by pkg-config for sm_90 (where
# nvcc is) and for the emulation, and run on a snapshot of the C library.

. "$(dirname "$0")/lib.sh"

command -v pkg-config > /dev/null || ktap_skip_all 'no pkg-config'
emulated=$BUILD/cuda/libepf_cuda_emu.so
[ -e "$emulated" ] || ktap_skip_all 'no C++ compiler'
card_folder
dest=$tmp prefix=$tmp/usr/local CC=${CC:-cc} CXX=${CXX:-c++}
header=$prefix/include/libepf_cuda.h
export PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest LD_LIBRARY_PATH=$prefix/lib

install_both() {
	make -s -C user install-lib DESTDIR="$dest" &&
		make -s -C cuda install-lib DESTDIR="$dest" INSTALLED="$emulated" &&
		mkdir -p "$prefix/include/epochfilter/"{epf,linux} &&
		cp include/epf/*.h "$prefix/include/epochfilter/epf" &&
		cp include/uapi/linux/*.h "$prefix/include/epochfilter/linux"
}

declared() {
	grep -o '^LIBEPF_API [^;]*' "$header" | grep -o 'libepf_[a-z_]*(' | tr -d '(' | sort
}

exported() {
	sed -n '/^LIBEPF_CUDA_1 /,/^local:/s/^\t\(.*\);$/\1/p' cuda/libepf_cuda.map | sort
}

compiles_alone() {
	local flags
	read -r -a flags <<< "$(pkg-config --cflags libepf_cuda)"
	echo '#include <libepf_cuda.h>' | "$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
		"${flags[@]}" -
}

# usage: built COMMAND [ARG]...: adds the flags of pkg-config
built() {
	local flags
	read -r -a flags <<< "$(pkg-config --cflags libepf_cuda) $(pkg-config --libs libepf)"
	"$@" "${flags[@]}"
}

for_sm_90() {
	built "$NVCC" -std=c++17 -arch=sm_90 -c "$prefix/share/epochfilter/examples/join.cu" \
		-o "$tmp/join.o"
}

# A snapshot of 1000 keys, by the C library.
snapshot() {
	cat > "$tmp/save.c" << 'END'
#include <libepf.h>
int main(int argc, char **argv)
{
	struct libepf_plan plan = { .size = sizeof(plan), .window_keys = 100000, .error = 1e-6 };
	struct libepf_keys keys = { .n = 1000, .len = 8 };
	static uint64_t key[1000];
	struct libepf_filter *filter;

	for (int i = 0; i < 1000; i++)
		key[i] = (uint64_t)i * 2;
	keys.data = key;
	return argc != 2 || libepf_filter_new(&plan, 0, &filter) ||
	       libepf_filter_insert(filter, &keys, 0) ||
	       libepf_filter_save(filter, argv[1], 0, 0);
}
END
	built "$CC" -std=c11 "$tmp/save.c" -o "$tmp/save" && "$tmp/save" "$tmp/snapshot.epf"
}

# The launch takes the form of the emulation, whose runtime the program shares with the library.
emulated_example() {
	sed -E 's/(\w+)<<<(.*), ([0-9]+)>>>\(/EPF_LAUNCH(\1, \2, \3, NULL, /' \
		"$prefix/share/epochfilter/examples/join.cu" > "$tmp/join.cu" &&
		built "$CXX" -std=c++17 -O1 -w -DEPF_CUDA_EMU -Icuda/emu \
			-x c++ "$tmp/join.cu" -x none "$BUILD"/cuda/emu/*.o -o "$tmp/join" -pthread
}

# At most ten absent keys are found; 0.3 are expected.
counts() {
	local said stay
	said=$("$tmp/join" "$tmp/snapshot.epf")
	echo "$said"
	stay=$(echo "$said" | sed -n 's/^no error: \([0-9]*\) of 262144 rows stay$/\1/p')
	[ "$stay" -ge 261134 ] && [ "$stay" -le 261144 ]
}

ktap_plan 8
ktap_check 'make install-lib of both libraries' install_both
ktap_is 'the version script names the functions of the header' "$(exported)" "$(declared)"
ktap_check 'the header compiles alone as C11' compiles_alone "$CC" -std=c11 -xc
ktap_check 'and as C++17' compiles_alone "$CXX" -std=c++17 -xc++
if command -v "$NVCC" > /dev/null && "$NVCC" --list-gpu-arch | grep -qx compute_90; then
	ktap_check 'the example compiles for sm_90' for_sm_90
else
	ktap_skip 'the example compiles for sm_90' 'no nvcc for it'
fi
ktap_check 'a snapshot is saved' snapshot
ktap_check 'the example builds with the installed headers' emulated_example
ktap_check 'and finds the keys of the snapshot' counts
ktap_finish
