#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: guest_modules.sh ROOT RELEASE
#
# Removes, from an unpacked kernel below ROOT, drivers of devices that a guest does not have, and
# writes the lists that modprobe reads. depmod decompresses every module, so the drivers would
# take most of its time.

set -u -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
kernel=$1/lib/modules/$2/kernel
keep=(! -name net ! -name virtio ! -name char ! -name block)

[ -d "$kernel/drivers/net" ] || exit 1
find "$kernel/drivers" -mindepth 1 -maxdepth 1 -type d "${keep[@]}" -exec rm -r {} + &&
	rm -rf "$kernel/sound" "$kernel"/drivers/net/{ethernet,wireless,usb} &&
	depmod -b "$1" "$2"
