#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest of reboot.sh. Its disk is an image in EPF_OUT, which outlives it.
#
# usage: reboot_guest.sh cut      declares filters, inserts keys, saves, and loses its power
#        reboot_guest.sh back     restores, and prints what it found
# shellcheck disable=SC2154 # EPF_OUT

set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
epfctl=${EPF_CTL:-$top/build/user/epfctl}
disk=/run/disk
conf=$disk/filters.d

epf() {
	"$epfctl" "$@"
}

mount_disk() {
	modprobe -a loop ext4 2> /dev/null
	mkdir -p "$disk"
	[ -e "$EPF_OUT/image" ] || {
		truncate -s 64M "$EPF_OUT/image" && mkfs.ext4 -q "$EPF_OUT/image"
	}
	mount -o loop "$EPF_OUT/image" "$disk"
}

# The module's filters where it loads, else pure BPF.
declare_filters() {
	local more='backend = module'

	[ -e /dev/epochfilter ] || more=$'backend = bpf\nrotate = kernel'
	mkdir -p "$conf"
	cat > "$conf/all.conf" <<- END
		[filter minutes]
		time = 30m
		rate = 1000
		$more
		[filter moments]
		time = 2s
		rate = 1000
		save = 1s
		$more
	END
	sync
}

# Inserts keys 1, 2, ... in steps of 50; EPF_OUT/inserted has the last one, at any moment.
traffic() {
	local n=0

	while :; do
		seq $((n + 1)) $((n + 50)) | epf insert minutes - || return
		seq $((n + 1)) $((n + 50)) | epf insert moments - || return
		n=$((n + 50))
		echo "$n" > "$EPF_OUT/inserted.new" && mv "$EPF_OUT/inserted.new" "$EPF_OUT/inserted"
	done > /dev/null
}

# Saves again and again; EPF_OUT/saved has a key that was inserted before the last save that
# ended began.
saves() {
	local before

	while :; do
		before=$(cat "$EPF_OUT/inserted")
		epf apply --save --state "$disk/state" "$conf" > /dev/null || return
		echo "$before" >> "$EPF_OUT/saved"
		sleep 0.2
	done
}

cut() {
	declare_filters
	echo 0 > "$EPF_OUT/inserted"
	epf apply --restore --state "$disk/state" "$conf" || return
	traffic &
	saves &
	until [ "$(wc -l < "$EPF_OUT/saved")" -ge 4 ]; do
		sleep 0.1
	done 2> /dev/null
	sleep "0.$((RANDOM % 900 + 100))"
	date +%s > "$EPF_OUT/clock"
	echo b > /proc/sysrq-trigger # at once, without a sync
	sleep 60
}

back() {
	# The clock of each guest begins at the same moment. Later by more than the window of moments:
	date -s "@$(($(cat "$EPF_OUT/clock") + 4))" > /dev/null || return
	epf apply --restore --state "$disk/state" "$conf" || return
	epf apply --restore --state "$disk/state" "$conf" || return
	echo "saved $(tail -n 1 "$EPF_OUT/saved") inserted $(cat "$EPF_OUT/inserted")"
	seq 1 "$(cat "$EPF_OUT/inserted")" > /run/keys
	epf test minutes --file /run/keys | awk '$2 == "present" { print $1 }' > "$EPF_OUT/found"
	echo "moments $(epf test moments --file /run/keys | grep -c ' present')"
}

[ -n "${EPF_VM:-}" ] || exit 2
[ -e /dev/epochfilter ] || insmod "$top/build/kmod/epochfilter.ko" 2> /dev/null
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
mount_disk || exit 3
"$1"
