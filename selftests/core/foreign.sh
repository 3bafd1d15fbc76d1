#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The core's known answers and the layouts of the interface on CPUs of other architectures, one of
# them big-endian. QEMU runs the programs. arch.sh runs much more.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
top=$here/../..
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# usage: build ARCH PROGRAM
build() {
	"$1-linux-gnu-gcc" -static -O1 -std=gnu11 -I"$top/include" -I"$top/include/uapi" \
		-DPLATFORM="\"C, $1\"" "$here/$2.c" -o "$tmp/$2" 2> "$tmp/log"
}

# usage: answers ARCH PROGRAM
answers() {
	build "$1" "$2" || { head -n 5 "$tmp/log"; return 1; }
	"qemu-$1" "$tmp/$2" > "$tmp/out" || { grep -v '^ok' "$tmp/out"; return 1; }
}

for arch in aarch64 s390x; do
	echo 'int main(void) { return 0; }' > "$tmp/none.c"
	here=$tmp build "$arch" none && "qemu-$arch" "$tmp/none" ||
		ktap_skip_all "no compiler, library or QEMU for $arch: scripts/deps.sh test"
done
ktap_plan 4
for arch in aarch64 s390x; do
	ktap_check "$arch: the known answers" answers "$arch" kat
	ktap_check "$arch: the layouts of the interface" answers "$arch" abi
done
ktap_finish
