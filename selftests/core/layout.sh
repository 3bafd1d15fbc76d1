#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks which cache lines of an instance packets read, and which ones inserting CPUs
# write, from the debug information of the built module (pahole). touches.c counts how
# often the shared count is written; this test shows that no other member shares its cache
# line.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

ko=${BUILD:-build}/kmod/epochfilter.ko
[ -e "$ko" ] || ktap_skip_all "no $ko: 'make module' builds it"
[ -z "$(find kmod include -name '*.[ch]' -newer "$ko")" ] ||
	ktap_skip_all "$ko is older than its source: 'make module' builds it"
command -v pahole > /dev/null || ktap_skip_all 'no pahole'

# Members that every packet reads. Inserters write @batch and @answer too, but only a few
# times per epoch and when the filter opens.
read_by_all='lanes cpu answer batch retired plain locked journal state.epoch'
# Members that inserters and rotations write. CPU words and group words are not in this
# struct.
written='trigger state.count lock retry'

# usage: members STRUCT PREFIX OFFSET: prints "LINE NAME" of each; lines have 64 bytes
members() {
	pahole -C "$1" "$ko" | awk -v prefix="$2" -v base="$3" '
		NF > 4 && $(NF - 3) == "/*" && $NF == "*/" {
			sub(/ *(__attribute__.*)?; *\/\*.*/, " " $(NF - 2))
			sub(/\[[0-9]*\]/, "")
			sub(/^\**/, "", $(NF - 1))
			print int((base + $NF) / 64), prefix $(NF - 1)
		}'
}

offset_of_state() {
	pahole -C epf_table "$ko" | awk '/ state; / { print $(NF - 2) }'
}

# usage: lines 'MEMBER...'; reads the output of members, and prints the lines of these
lines() {
	awk -v want=" $1 " 'index(want, " " $2 " ")'
}

# usage: apart FILE: is every member there, and is no line in both lists?
apart() {
	lines "$read_by_all" < "$1" > "$tmp/read"
	lines "$written" < "$1" > "$tmp/written"
	[ "$(wc -l < "$tmp/read")" -eq "$(wc -w <<< "$read_by_all")" ] &&
		[ "$(wc -l < "$tmp/written")" -eq "$(wc -w <<< "$written")" ] &&
		! awk 'NR == FNR { read[$1]; next } $1 in read { found = 1 } END { exit !found }' \
			"$tmp/read" "$tmp/written"
}

# With the trigger on the line of the epoch, the check must fail.
overlap_is_seen() {
	local epoch
	epoch=$(lines state.epoch < "$tmp/table" | cut -d ' ' -f 1)
	sed "s/^[0-9]* trigger$/$epoch trigger/" "$tmp/table" > "$tmp/moved"
	! apart "$tmp/moved"
}

# usage: has_a_line STRUCT
has_a_line() {
	pahole -s "$ko" | awk -v name="$1" '$1 == name && $2 == 64 { found = 1 } END { exit !found }'
}

tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
{
	members epf_table '' 0
	members epf_state state. "$(offset_of_state)"
} > "$tmp/table"

ktap_plan 4
ktap_check 'no line that every packet reads is written by insertions' apart "$tmp/table"
sed 's/^/# read: line /' "$tmp/read"
sed 's/^/# written: line /' "$tmp/written"
ktap_check 'the check fails where the trigger is on such a line' overlap_is_seen
ktap_check 'what a group of CPUs keeps has a line of its own' has_a_line epf_group
ktap_check 'so have the counters of a CPU, which never straddle two' has_a_line epf_cpu
ktap_finish
