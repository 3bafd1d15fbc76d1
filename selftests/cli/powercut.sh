#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The power fails while epfctl saves again and again on ext4: at random moments the file
# system is shut down without writing its journal, by the kernel's shutdown ioctl for such
# tests. After the next mount the file is a complete one that was saved, and not older
# than the last save reported as done.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

rounds=${EPF_THOROUGH:+8}
rounds=${rounds:-2}
# The journal is committed by a sync only, not by time.
options=loop,commit=3000
[ "$(id -u)" = 0 ] || ktap_skip_all 'needs root'
[ -n "${EPF_VM:-}" ] || ktap_skip_all 'mounts and breaks file systems: in a VM only'
command -v mkfs.ext4 > /dev/null || ktap_skip_all 'no mkfs.ext4'
[ -e /dev/epochfilter ] || insmod "${EPF_KO:-$top/build/kmod/epochfilter.ko}" ||
	ktap_skip_all 'the module does not load'
modprobe -a loop ext4 2> /dev/null
mkdir "$tmp/disk"
truncate -s 64M "$tmp/image" && mkfs.ext4 -q "$tmp/image" &&
	mount -o "$options" "$tmp/image" "$tmp/disk" ||
	ktap_skip_all 'no ext4 on a loop device here'
ktap_cleanup umount -l "$tmp/disk"
ktap_plan 4
ktap_cleanup "$EPFCTL" destroy --force cut
gives 0 '^created' create cut -W 10k

# Prints the insertions of the filter, or of a file.
inserts_of() {
	[[ $("$EPFCTL" -j show "$@") =~ '"inserts":'\ *([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

# Saves until that fails; $tmp/last has the insertions of the last completed save.
saver() {
	local n

	n=$(inserts_of cut)
	while :; do
		n=$((n + 1))
		"$EPFCTL" insert cut "$n"
		LD_PRELOAD=$1 "$EPFCTL" save cut "$tmp/disk/snap" || return
		echo "$n" > "$tmp/last"
	done > /dev/null 2>&1
}

# FS_IOC_SHUTDOWN without a flush of the journal (EXT4_GOING_FLAGS_NOLOGFLUSH)
shut_down() {
	python3 -IS -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' \
		"$tmp/disk"
}

# cut PRELOAD: one power cut. Return: is the file as it must be?
cut() {
	local saver got last now tries

	last=$(cat "$tmp/last")
	saver "$1" &
	saver=$!
	for ((tries = 0; tries < 600; tries++)); do # until a save of this round is done
		[ "$(cat "$tmp/last")" = "$last" ] || break
		sleep 0.1
	done
	# shellcheck disable=SC2046 # a number
	sleep $(awk -v seed="$RANDOM" 'BEGIN { srand(seed); print 0.1 + rand() / 2 }')
	shut_down || return
	wait "$saver"
	for ((tries = 0; tries < 600; tries++)); do
		umount "$tmp/disk" 2> /dev/null && break
		sleep 0.1
	done
	mount -o "$options" "$tmp/image" "$tmp/disk" || return
	now=$(inserts_of cut)
	last=$(cat "$tmp/last")
	got=$(inserts_of --file "$tmp/disk/snap")
	echo "# last said to be saved $last, last begun $now, found ${got:-none}"
	[ "${got:-0}" -ge "$last" ] && [ "$got" -le "$now" ]
} 2> /dev/null

echo 0 > "$tmp/last"
"$EPFCTL" save cut "$tmp/disk/snap" > /dev/null
sync
cut_often() {
	local n

	for ((n = 0; n < rounds; n++)); do
		cut "$1" || return
	done
}
claim "$rounds power cuts: the last file saved, or the next one, whole" \
	cut_often ''
claim 'some saves were done between them' \
	[ "$(cat "$tmp/last")" -gt $((rounds / 2)) ]
caught() { ! cut_often "$built/nosync.so" > "$tmp/cuts"; }
claim 'a save that does not sync is found out' caught
tail -n 1 "$tmp/cuts"

ktap_finish
