#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A kernel of another Debian suite, to boot but not to build for. Unpacks its image
# and modules into build/kernels/stock-NAME. Guarantees:
#  - nothing outside build/ changes, and no program of the suite runs;
#  - the folder is complete or does not exist.
#
# Exit: 0 the kernel is available, 1 it cannot be had, 2 usage.

set -u -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1

usage() {
	cat <<'USAGE'
usage: scripts/stock.sh oldest|rt

  oldest   6.1, of Debian 12
  rt       6.12 with PREEMPT_RT, of Debian 13

  Prints the image and the modules' directory to boot with it. Needs root where
  they are not there yet.
USAGE
}

die() {
	echo "stock: $*" >&2
	exit 1
}

case ${1:-} in
oldest) suite=bookworm package=linux-image-amd64 ;;
rt) suite=trixie package=linux-image-rt-amd64 ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac
root=$top/build/kernels/stock-$1
log=$root.log

# mmdebstrap also unpacks what the package depends on.
extract() {
	mmdebstrap --variant=extract --mode=root --architectures=amd64 \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Sandbox::User "root"' \
		--include="$package,base-files" "$suite" "$root.tmp/all" > "$log" 2>&1
}

unpack() {
	command -v mmdebstrap > /dev/null || die 'mmdebstrap is missing: scripts/deps.sh vm'
	echo "stock: unpacking the kernel of $suite" >&2
	rm -rf "$root.tmp" "$root"
	mkdir -p "$root.tmp/all" "$root.tmp/lib" || return
	extract || return
	mv "$root.tmp"/all/lib/modules "$root.tmp/lib/" && mv "$root.tmp"/all/boot "$root.tmp/" &&
		"$top/scripts/guest_modules.sh" "$root.tmp" "$(ls "$root.tmp/lib/modules")" || return
	rm -rf "$root.tmp/all" && mv "$root.tmp" "$root"
}

if ! [ -e "$root" ]; then
	[ "$(id -u)" -eq 0 ] || die "unpacking the kernel of $suite needs root"
	mkdir -p "${root%/*}" && exec 9> "$root.lock" && flock 9 || exit 1
	[ -e "$root" ] || unpack || die "cannot unpack $suite; see $log"
fi
release=$(ls "$root/lib/modules")
echo "$root/boot/vmlinuz-$release $root/lib/modules/$release"
