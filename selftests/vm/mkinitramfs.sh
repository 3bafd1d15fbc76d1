#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: mkinitramfs.sh MODULES OUTPUT BUSYBOX
#
# Packs the initramfs that brings run.sh's guest to its root file system:
# static busybox, init, stage2 and the modules for 9p over virtio and overlay,
# decompressed and listed in load order as modprobe derives it from
# modules.dep. MODULES is a /lib/modules/RELEASE directory; "" is for kernels
# with all of this built in. Guarantee: OUTPUT appears complete or not at all.

set -eu -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
modules=$1
output=$2
busybox=$3

tree=$(mktemp -d)
trap 'rm -rf "$tree" "$output.$$"' EXIT

mkdir -p "$tree"/{bin,modules}
cp -L "$busybox" "$tree/bin/busybox"
install -m 755 "$here/init" "$here/stage2" "$tree/"
: > "$tree/modules/order"

# modprobe -d takes a root directory and looks below its lib/modules itself.
load_order() {
	[ -n "$modules" ] || return 0
	local base=${modules%/lib/modules/*} name
	for name in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
		modprobe -d "${base:-/}" -S "${modules##*/}" --show-depends "$name"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++'
}

order=$(load_order)
for file in $order; do
	name=${file##*/}
	name=${name%%.ko*}.ko
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -qdc "$file" ;;
	*.gz) gzip -dc "$file" ;;
	*) cat "$file" ;;
	esac > "$tree/modules/$name"
	echo "$name" >> "$tree/modules/order"
done

(cd "$tree" && find . | cpio --quiet -o -H newc -R 0:0) > "$output.$$"
mv "$output.$$" "$output"
