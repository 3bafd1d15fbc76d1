#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The C library as people get it: "make install" in a folder of its own, then exports, headers,
# manual pages, and the examples, built by pkg-config alone and run.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc} CXX=${CXX:-c++}
dest=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$dest"
export PKG_CONFIG_LIBDIR=$dest/usr/local/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest LD_LIBRARY_PATH=$dest/usr/local/lib
lib=$dest/usr/local/lib/libepf.so.1
header=$dest/usr/local/include/libepf.h

command -v pkg-config > /dev/null || ktap_skip_all 'no pkg-config'

# The functions that the header declares, in order.
declared() {
	sed 's|/\*.*\*/||' "$header" | grep -o '^LIBEPF_API [^;]*' | grep -o 'libepf_[a-z_]*(' | tr -d '(' | sort
}

exported() {
	nm -D --defined-only "$lib" | sed -n 's/.* T \(.*\)@@LIBEPF_[123]$/\1/p' | sort
}

# Nothing is exported but these functions and the names of their versions.
exports_alone() {
	! nm -D --defined-only "$lib" | grep -vE ' T libepf_[a-z_]+@@LIBEPF_[123]$| A LIBEPF_[123]$'
}

soname() {
	readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
}

compiles_alone() {
	local flags
	read -r -a flags <<< "$(pkg-config --cflags libepf)"
	echo '#include <libepf.h>' | "$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
		"${flags[@]}" -
}

# The header includes nothing of the kernel and nothing of the core.
includes() {
	grep -h '#include' "$header" | sort | tr -d '\n'
}

# usage: example NAME
example() {
	local flags
	read -r -a flags <<< "$(pkg-config --cflags --libs libepf)"
	"$CC" -std=c11 -Wall -Wextra -Werror -D_GNU_SOURCE "$dest/usr/local/share/epochfilter/examples/$1.c" \
		"${flags[@]}" -o "$dest/$1"
}

page_of() {
	sed 's/.*man3/man3/' "$dest/usr/local/share/man/man3/$1.3"
}

ktap_plan 17
ktap_check 'make install-lib' make -s -C user install-lib DESTDIR="$dest"
ktap_is 'soname' "$(soname)" libepf.so.1
ktap_is 'the linker finds it' "$(readlink "${lib%.1}")" libepf.so.1
ktap_is 'exports are the functions of the header' "$(exported)" "$(declared)"
ktap_check 'nothing else is exported' exports_alone
ktap_is 'the header includes no header of the core or the kernel' "$(includes)" \
	'#include <stddef.h>#include <stdint.h>'
ktap_check 'it compiles alone as C11' compiles_alone "$CC" -std=c11 -xc
ktap_check 'and as C++17' compiles_alone "$CXX" -std=c++17 -xc++
ktap_is 'version of libepf.pc' "$(pkg-config --modversion libepf)" "$(cat VERSION)"
if [ -e "$dest/usr/local/share/man/man3/libepf.3" ]; then
	ktap_is 'each function has a manual page' "$(ls "$dest/usr/local/share/man/man3" | grep -c '^libepf_')" \
		"$(declared | wc -l)"
	ktap_is 'which is the one of all' "$(page_of libepf_merge)" 'man3/libepf.3'
else
	ktap_skip 'each function has a manual page' 'no rst2man'
	ktap_skip 'which is the one of all' 'no rst2man'
fi
for name in recent audit allow; do
	ktap_check "example $name builds" example "$name"
done
ktap_is 'recent leaves repeats out' "$(printf 'a\nb\na\nc\nb\n' | "$dest/recent" | tr -d '\n')" abc

filter=lib_example_$$
# Keys of text in a filter of pure BPF, saved by epfctl, audited by an example.
kernel_filter() {
	"$dest/allow" "$filter" 192.0.2.1 192.0.2.7 && "$dest/allow" "$filter" 192.0.2.7 192.0.2.9
}
if [ "$(id -u)" -eq 0 ] && EPF_BACKEND=bpf build/user/epfctl doctor > /dev/null 2>&1; then
	ktap_cleanup build/user/epfctl --backend bpf destroy "$filter" --force
	ktap_is 'allow knows an address the second time' "$(kernel_filter | tr '\n' ' ')" \
		'2 addresses, 0 of them known before 2 addresses, 1 of them known before '
	audit() {
		printf 'one\ntwo\n' | build/user/epfctl --backend bpf insert "$filter" -
		build/user/epfctl --backend bpf save "$filter" "$dest/a.epf" > /dev/null
		printf 'two\nthree\n' > "$dest/keys"
		"$dest/audit" "$dest/a.epf" "$dest/keys"
	}
	ktap_is 'audit finds what epfctl inserted' "$(audit 2>&1 | tail -n 1)" 'two age 0'
else
	ktap_skip 'allow knows an address the second time' 'no pure BPF here'
	ktap_skip 'audit finds what epfctl inserted' 'no pure BPF here'
fi
ktap_finish
