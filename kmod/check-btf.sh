#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check-btf.sh MODULE.ko KFUNC.c
#
# Exit 0 means that the verifier will find every function of KFUNC.c's tables
# in the module. With kernel headers that lack a vmlinux the module has no BTF,
# and the build does not report that.

ko=$1
src=$2
PATH=$PATH:/usr/sbin:/sbin
objcopy=${CROSS_COMPILE:-}objcopy

die() {
	echo "check-btf: $*" >&2
	exit 1
}

# Not to /dev/stdout: on an error objcopy removes its output, which root then has no more.
section() {
	: > "$out"
	"$objcopy" -O binary --only-section="$1" --set-section-flags "$1=alloc" "$ko" "$out" 2>/dev/null
	cat "$out" 2>/dev/null
}

[ -e "$ko" ] || die "$ko: not built"
command -v "$objcopy" >/dev/null || die "$objcopy is missing: install binutils"
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
[ "$(section .BTF | wc -c)" -gt 24 ] ||
	die "$ko has no BTF, so BPF programs could not use it: install pahole, and kernel headers that have a vmlinux (Debian: 6.12 or newer); then build again"
section .BTF_ids | tr -d '\0' | grep -q . ||
	die "$ko has empty .BTF_ids: install kernel headers with tools/bpf/resolve_btfids, or give RESOLVE_BTFIDS=path"

# The string table of the BTF has the name of every function.
names=$(section .BTF | tr '\0' '\n' | grep -a '^bpf_epf_')
for fn in $(sed -n 's/^[[:space:]]*BTF_ID_FLAGS(func, \([a-z0-9_]*\),.*/\1/p' "$src"); do
	echo "$names" | grep -qx "$fn" ||
		die "$ko: $fn is not in its BTF: pahole is too old or too new for this kernel"
done
