#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# No data is lost: each step of a save, each allocation and each command of the device
# fails in turn, the program is killed there, or the power fails. Afterwards the old file
# or the new one exists, complete, and the old filter or the new one; and the error is one
# line. The device is a directory: inject.c.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_inject
export ASAN_OPTIONS=verify_asan_link_order=0
mkdir "$tmp/dev" "$tmp/dir"
struck=$tmp/struck
max_faults=2000

# injected FAULT ARG...: runs epfctl with it, and sets status, $tmp/out, $tmp/err.
injected() {
	rm -f "$struck"
	EPF_FAKE=$tmp/dev EPF_STRUCK=$struck EPF_FAULT=$1 \
		LD_PRELOAD=$tmp/inject.so "$EPFCTL" "${@:2}" \
		< /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
} 2> /dev/null # the shell reports killed children

one_line() {
	[ "$status" = 2 ] && [ ! -s "$tmp/out" ] &&
		[ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -qE '^(error: |\{"error":")' "$tmp/err"
}

# Of different sizes, one of several writes
injected '' create big -W 700k
injected '' create small -W 7k
injected '' save small "$tmp/old"
injected '' save big "$tmp/new"
"$EPFCTL" show --file "$tmp/new" > /dev/null && [ "$(stat -c %s "$tmp/new")" \
	-gt 2000000 ] || ktap_skip_all 'the preloaded device does not work'
ktap_plan 31

mkhost "$tmp/host1" && mkhost "$tmp/host2" id=2 || exit 1

# Restores the initial state before each try
reset_file() {
	rm -f "$tmp"/dir/*
	[ "${1:-}" = none ] || cp "$tmp/old" "$tmp/dir/snap"
}
is_old() { cmp -s "$tmp/dir/snap" "$tmp/old"; }
is_new() { cmp -s "$tmp/dir/snap" "$tmp/new"; }
is_whole() { is_old || is_new; }
alone() { [ "$(ls -A "$tmp/dir")" = snap ]; }
save() { injected "$1" save big "$tmp/dir/snap"; }

# An error at each step
steps=0
fail_each() {
	for ((steps = 0; steps < max_faults; steps++)); do
		reset_file
		save "disk:$((steps + 1)):fail"
		[ -e "$struck" ] || break
		one_line && alone || return
		if grep -q 'saved, but its directory' "$tmp/err"; then
			is_new || return
		else
			is_old && grep -q 'nothing was changed' "$tmp/err" ||
				return
		fi
	done
	is_new && alone && [ "$steps" -ge 10 ]
}
claim 'save: each step fails: one line, the old file or the new, no other' \
	fail_each
ktap_diag "$steps steps"

# Killed at each step, in the middle of each write; then saved again
kill_each() {
	local n

	for ((n = 1; n <= steps; n++)); do
		reset_file
		save "disk:$n:kill"
		[ "$status" = 137 ] && is_whole || return
		save ''
		[ "$status" = 0 ] && is_new || return
	done
}
claim 'save: killed at each step: one whole file, and saving again works' \
	kill_each
kill_first() {
	local n

	for ((n = 1; n <= steps; n++)); do
		reset_file none
		save "disk:$n:kill"
		[ "$status" = 137 ] && [ ! -e "$tmp/dir/snap" ] || is_new ||
			return
	done
}
claim 'the same where there was no file: none, or the new one' kill_first

# The power fails at each step, and after the program has finished
cut_each() {
	local n

	for ((n = 1; n <= steps + 1; n++)); do
		reset_file
		save "disk:$n:cut"
		[ "$status" = 137 ] && is_whole || return
	done
	is_new
}
claim 'save: power cut at each step: one whole file; afterwards the new one' \
	cut_each
cut_first() {
	local n

	for ((n = 1; n <= steps + 1; n++)); do
		reset_file none
		save "disk:$n:cut"
		[ "$status" = 137 ] && [ ! -e "$tmp/dir/snap" ] || is_new ||
			return
	done
	is_new
}
claim 'the same where there was no file' cut_first
lie() {
	local caught=1

	EPF_LIE=$1 cut_each || caught=0
	return $caught
}
export EPF_LIE=
claim 'a save that did not sync its contents would be found out' lie file
claim 'a save that did not sync the directory would be found out' lie dir

# Each transfer of data is short once, and then continues
short_each() {
	local n

	for ((n = 1; n < max_faults; n++)); do
		reset_file
		injected "io:$n:short" "$@"
		[ -e "$struck" ] || break
		[ "$status" = 0 ] && [ ! -s "$tmp/err" ] || return
		[ "$1" != save ] || { is_new && alone; } || return
		cmp -s "$tmp/out" "$tmp/first" || return
	done
	[ "$n" -gt 1 ] && [ "$n" -lt "$max_faults" ]
}
short() {
	reset_file
	injected '' "$@"
	cp "$tmp/out" "$tmp/first"
	short_each "$@"
}
claim 'save: each short write goes on: the new file' \
	short save big "$tmp/dir/snap"
claim 'show --file: a short read' short show --file "$tmp/old"
claim 'merge: short reads and writes' \
	short merge -o "$tmp/dir/merged" "$tmp/host1" "$tmp/host2"

# A limit on file sizes
too_large() {
	reset_file
	(ulimit -f 100 && save '' && one_line &&
		grep -q 'File too large; nothing was changed' "$tmp/err") &&
		is_old && alone
}
claim 'save: above the limit of file sizes: one line, the old file' too_large

# State of the device: its directory
cp -r "$tmp/dev" "$tmp/dev.before"
reset_all() {
	reset_file
	rm -rf "${tmp:?}/dev"
	cp -r "$tmp/dev.before" "$tmp/dev"
	rm -f "$tmp/dev/.replaced"
}
same_device() { diff -r -x .replaced "$tmp/dev" "$1" > /dev/null; }

# Every fault of one kind: the command fails in one line and changes nothing, or copes
# and succeeds. If only reporting the result failed, the change has happened.
# each_fault KIND ARG...
each_fault() {
	reset_all
	injected '' "${@:2}"
	[ "$status" = 0 ] || return
	rm -rf "$tmp/dev.after" "$tmp/dir.after"
	cp -r "$tmp/dev" "$tmp/dev.after"
	cp -r "$tmp/dir" "$tmp/dir.after"
	cp "$tmp/out" "$tmp/want"
	for ((faults = 0; faults < max_faults; faults++)); do
		reset_all
		injected "$1:$((faults + 1)):fail" "${@:2}"
		[ -e "$struck" ] || return 0
		if [ "$status" = 0 ]; then
			cmp -s "$tmp/out" "$tmp/want" && [ ! -s "$tmp/err" ] &&
				done_all || return
		elif grep -q 'error\W*: *"*out of memory for the output' \
			"$tmp/err"; then
			one_line && done_all || return
		else
			one_line && same_device "$tmp/dev.before" &&
				is_old && alone || return
		fi
	done
	return 1
}
done_all() {
	same_device "$tmp/dev.after" &&
		diff -r "$tmp/dir" "$tmp/dir.after" > /dev/null
}
claim_each() {
	faults=0
	claim "$*: each fault: one line, and nothing has happened; or done" \
		each_fault "$@"
	ktap_diag "$faults faults"
}
for kind in ioctl alloc; do
	claim_each $kind create fresh -W 7k
	claim_each $kind save big "$tmp/dir/snap"
	claim_each $kind restore small "$tmp/new"
	claim_each $kind restore fresh "$tmp/new"
done
claim_each alloc -j create fresh -W 7k
claim_each alloc -j save big "$tmp/dir/snap"
claim_each alloc -j restore fresh "$tmp/new"
claim_each alloc show --file "$tmp/new"
claim_each alloc -j show --file "$tmp/new"
claim_each alloc plan -W 1M
claim_each alloc -j plan -W 1M
claim_each alloc plan -T 10s --rate 1M -b 1e-6
claim_each alloc merge -o "$tmp/dir/snap" "$tmp/host1" "$tmp/host2"
claim_each alloc -j merge -o "$tmp/dir/snap" "$tmp/host1" "$tmp/host2"

# Removing repeats: an existing output is replaced only by a complete one
python3 - "$tmp/in.pcap" << 'PYTHON'
import sys
sys.path.insert(0, "../dedup")
import pcap
frames = [bytes([n % 50]) * 60 for n in range(100)]
pcap.Capture([pcap.Packet(0, f) for f in frames]).save(sys.argv[1])
PYTHON
dedup_each() {
	local n

	reset_all
	injected '' dedup "$tmp/in.pcap" "$tmp/dir/snap" -D 100
	cp "$tmp/dir/snap" "$tmp/shorter"
	for ((n = 1; n < max_faults; n++)); do
		reset_all
		injected "alloc:$n:fail" "$@" dedup "$tmp/in.pcap" \
			"$tmp/dir/snap" -D 100
		[ -e "$struck" ] || break
		if [ "$status" = 0 ]; then
			cmp -s "$tmp/dir/snap" "$tmp/shorter" && alone || return
		elif grep -q 'error\W*: *"*out of memory for the output' \
			"$tmp/err"; then
			cmp -s "$tmp/dir/snap" "$tmp/shorter" && one_line ||
				return
		else
			one_line && is_old && alone || return
		fi
	done
	[ "$n" -gt 3 ] && [ "$n" -lt "$max_faults" ]
}
claim 'dedup: each allocation fails: one line, and the old file; or done' \
	dedup_each
claim 'dedup -j: likewise' dedup_each -j

ktap_finish
