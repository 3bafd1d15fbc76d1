#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A guest with declared filters loses its power while keys are inserted and states are
# saved, and boots again: every key of the last save that ended is found, and a filter whose
# window is over begins empty. The gap is printed.
# shellcheck disable=SC2317 # functions that checks call

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

[ -z "${EPF_VM:-}" ] || ktap_skip_all 'boots guests of its own'
[ -x build/user/epfctl ] || ktap_skip_all 'needs epfctl: make user'
command -v mkfs.ext4 > /dev/null || ktap_skip_all 'no mkfs.ext4'

guest() {
	selftests/vm/run.sh --timeout 600 --out "$tmp/out" -- \
		env ${EPF_CTL:+EPF_CTL="$EPF_CTL"} "$PWD/selftests/cli/reboot_guest.sh" "$1" 2> "$tmp/$1.err" | tee "$tmp/$1"
	return "${PIPESTATUS[0]}"
}
mkdir "$tmp/out"
guest cut > /dev/null
status=$?
if [ ! -s "$tmp/out/saved" ]; then
	tail -n 3 "$tmp/cut.err" "$tmp/cut" | sed 's/^/# /'
	[ "$status" = 3 ] && ktap_skip_all 'no ext4 on a loop device there'
	command -v qemu-system-x86_64 > /dev/null || ktap_skip_all 'no QEMU'
fi
cp "$tmp/out/saved" "$tmp/out/inserted" "$tmp/"

ktap_plan 5
ktap_check 'a guest lost its power after four saves' \
	[ "$status" != 0 -a "$(wc -l < "$tmp/out/saved")" -ge 4 ]
ktap_check 'it boots again, and restores' guest back
sed 's/^/# /' "$tmp/back"

saved=$(tail -n 1 "$tmp/saved") inserted=$(cat "$tmp/inserted")
found=$(wc -l < "$tmp/out/found")
echo "# the gap: keys up to $saved were saved, $inserted were inserted, $found are found"
all_saved() {
	seq 1 "$saved" | grep -vxFf "$tmp/out/found" > "$tmp/lost"
	head -n 5 "$tmp/lost"
	[ "$saved" -gt 0 ] && [ ! -s "$tmp/lost" ]
}
ktap_check 'every key of the last save is found' all_saved
over() {
	grep -q '^not restored moments: saved .* ago, which is longer than its window' "$tmp/back" &&
		grep -qx 'moments 0' "$tmp/back"
}
ktap_check 'a filter whose window is over begins empty, and says so' over
ktap_check 'a second run has nothing to do' grep -q '^nothing to do: 2 declared' "$tmp/back"
ktap_finish
