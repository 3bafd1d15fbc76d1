#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A module that was linked without BTF is linked again before kmod/Makefile complains. In place of the kernel's
# build is one that, as that one, makes BTF only where the module is missing, and counts how often it links.
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
command -v objcopy cc > /dev/null || ktap_skip_all 'needs objcopy and cc'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
unset MAKEFLAGS MFLAGS MAKELEVEL

out=$tmp/out/epochfilter.ko
mkdir "$tmp/kernel" "$tmp/out"
{
	head -c 25 /dev/zero
	sed -n 's/^[[:space:]]*BTF_ID_FLAGS(func, \([a-z0-9_]*\),.*/\1/p' "$top/kmod/kfunc.c" | tr '\n' '\0'
} > "$tmp/btf"
echo 1 > "$tmp/ids"
cc -xc -c /dev/null -o "$tmp/bare.o"
objcopy --add-section .BTF="$tmp/btf" --add-section .BTF_ids="$tmp/ids" "$tmp/bare.o" "$tmp/full.o" || exit 1

# usage: kernel OBJECT: what the kernel's build links is OBJECT
kernel() {
	printf 'modules:\n\t[ -e %s ] || { echo link >> %s; cp %s %s; }\n' "$out" "$tmp/links" "$1" "$out" > "$tmp/kernel/Makefile"
	: > "$tmp/links"
}

build() {
	make -C "$top/kmod" KREL=none KDIR="$tmp/kernel" KOUT="$tmp/out" > "$tmp/said" 2>&1 || { cat "$tmp/said"; return 1; }
}

links() {
	wc -l < "$tmp/links"
}

ktap_plan 6
kernel "$tmp/full.o"
cp "$tmp/bare.o" "$out"
ktap_check 'a module without BTF: the build succeeds' build
ktap_is 'by linking once more' "$(links)" 1
ktap_check 'a module with BTF: the build succeeds' build
ktap_is 'and nothing is linked' "$(links)" 1
kernel "$tmp/bare.o"
cp "$tmp/bare.o" "$out"
ktap_refuse 'a kernel that gives no BTF: the build fails' build
ktap_check 'with the reason, once' test "$(grep -c 'has no BTF' "$tmp/said")" = 1
ktap_finish
