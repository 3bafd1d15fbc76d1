#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl audit of snapshots: answers (mkaudit.c has the expected ones), interruption, hostile input.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

"${CC:-cc}" -O2 -std=gnu11 -Wall -Wextra -I"$top/include" -I"$top/include/uapi" \
	mkaudit.c -o "$tmp/mkaudit" -lxxhash ||
	ktap_skip_all 'mkaudit.c needs a compiler and libxxhash-dev'
needs_inject
"${EPF_CC:-${CC:-cc}}" -D_GNU_SOURCE -Wall -Wextra -fPIC -shared ../agent/die.c \
	-o "$tmp/die.so" || ktap_skip_all 'die.c needs a compiler'
keys=300007
mkdir "$tmp/few" "$tmp/many" "$tmp/dir"
"$tmp/mkaudit" "$tmp/few" 5003 && "$tmp/mkaudit" "$tmp/many" $keys || exit 1
few=$tmp/few many=$tmp/many dir=$tmp/dir struck=$tmp/struck
ktap_plan 123

# answered FILES ARG...: an audit gives the bytes of FILES/bitmap and ages
answered() {
	rm -f "$dir"/*
	epf audit "$1/snap" "${@:2}" -b "$dir/b" -a "$dir/a"
	[ "$status" = 0 ] && [ ! -s "$tmp/err" ] &&
		cmp -s "$dir/b" "$1/bitmap" && cmp -s "$dir/a" "$1/ages" &&
		[ "$(ls -A "$dir")" = $'a\nb' ]
}
answers() {
	claim "audit ${*:2}: the bytes that are to come" answered "$@"
}
columns=(--format column --digests)

# All formats, all engines
answers "$few" "$few/digests" "${columns[@]}"
answers "$few" "$few/column" --key-len 12
answers "$many" "$many/digests" "${columns[@]}"
answers "$many" "$many/column" --key-len 12 --threads 1
answers "$few" "$few/keys.csv" -F csv --header --fields key
answers "$few" <(tail -n +2 "$few/keys.csv") -F csv --fields 2
answers "$many" "$many/keys.csv" -F csv --header --fields key
answers "$few" "$few/keys.json"
answers "$few" "$few/keys.json" -F json --fields key
answers "$few" <(od -An -v -w8 -tx8 "$few/digests" | tr -d ' ') -F csv --digests
answers "$few" "$few/keys.pcap"
answers "$many" "$many/keys.pcap" -F pcap --key frame
for engine in scalar ring avx2 avx512; do
	epf audit "$few/snap" "$few/column" --key-len 12 --engine $engine
	if grep -q 'that this CPU lacks' "$tmp/err" || { [ -n "${EPF_QEMU:-}" ] && grep -q "avx.*is none of" "$tmp/err"; }; then
		ktap_skip "engine $engine" 'not on this machine'
	else
		answers "$many" "$many/column" --key-len 12 --engine $engine
	fi
done
from_pipe() {
	< "$few/keys.csv" cat | "$EPFCTL" audit "$few/snap" - -F csv --header \
		--fields 2 -b "$dir/b" > "$tmp/out" 2> "$tmp/err" &&
		cmp -s "$dir/b" "$few/bitmap"
}
claim 'records from a pipe' from_pipe
epf -j audit "$many/snap" "$many/column" --key-len 12 --probe 2M
# The interval is 99.9 % and these keys are independent: three of its halves are ten
# sigma. audit/estimate shows that it is not wider than that.
chance=1e-20 claim 'random keys are found as often as foretold' json \
	'd["asked"]["met"]["keys"] == 2000000 and
	 abs(d["asked"]["met"]["low"] + d["asked"]["met"]["high"] - 2 * d["asked"]["fpr"]) <
	 3 * (d["asked"]["met"]["high"] - d["asked"]["met"]["low"])'
epf audit "$few/snap" "$few/column" --key-len 12 --probe 1k
claim 'and the report says so' grep -q ' of 1000 random keys: ' "$tmp/out"
stops_probing() {
	local wait

	for wait in 0.3 1 3 10 40 160; do # until it has begun
		timeout -s INT "$wait" "$EPFCTL" audit "$few/snap" "$few/column" \
			--key-len 12 --probe 1e12 > "$tmp/out" 2> "$tmp/err"
		[ $? = 124 ] && [ ! -s "$tmp/out" ] && grep -qx \
			'error: interrupted while random keys were looked up' \
			"$tmp/err" && return
	done
	return 1
}
claim 'and that can be interrupted' stops_probing
fails '--probe does not go with --agent' audit "$few/snap" "$few/column" --key-len 12 --probe 1k --agent x
: > "$tmp/empty"
gives 0 'present +0 of 0 keys' audit "$few/snap" "$tmp/empty" "${columns[@]}"

# Numbers
gives 0 'age +since +keys.* 0 +5 s +[0-9]+ #+.* 7 +75 s +[0-9]+ #+' \
	audit "$few/snap" "$few/digests" "${columns[@]}"
gives 0 'column.*snapshot of 2023-11-1.*present +3336 of 5003 keys, 66.68%' \
	audit "$few/snap" "$few/digests" "${columns[@]}"
epf -j audit "$few/snap" "$few/digests" "${columns[@]}" --engine scalar
claim 'audit -j: counts, ages, epochs' json 'd["keys"] == 5003 and
	d["present"] == 3336 == sum(a["keys"] for a in d["ages"]) and
	[a["age"] for a in d["ages"]] == list(range(8)) and
	[a["began_ago_ns"] for a in d["ages"]] == [a["began_ns"] for a in d["ages"]] ==
		[(5 + 10 * n) * 10**9 for n in range(8)] and
	d["ages"][0]["keys"] == 417 and d["keyless"] == d["bad"] == 0'
claim 'audit -j: what was asked, by whom' json 'd["format"] == "column" and
	d["asked"]["place"] == "snapshot" and d["asked"]["epoch"] == 40 and
	d["asked"]["filter"] == "made" and d["work"]["engine"] == "scalar" and
	d["work"]["why"] == "as asked" and 0 < d["asked"]["fpr"] < 1e-3 and
	len(d["bitmap_xxh3"]) == 16'
sum_of() {
	printf '#include <stdio.h>\n#include <xxhash.h>
		static char b[1 << 20]; int main(void) {
		printf("%%016llx", (unsigned long long)XXH3_64bits(b,
		fread(b, 1, sizeof(b), stdin))); return 0; }' > "$tmp/sum.c"
	"${CC:-cc}" "$tmp/sum.c" -o "$tmp/sum" -lxxhash && "$tmp/sum" < "$1"
}
claim 'audit -j: XXH3-64 of the bitmap' json "d['bitmap_xxh3'] == '$(sum_of "$few/bitmap")'"
epf -j audit "$few/snap" "$few/keys.csv" -F csv --header --fields 2
claim 'the same of records without a bitmap' \
	json "d['bitmap_xxh3'] == '$(sum_of "$few/bitmap")'"

# Records: the present ones, the absent ones
expected_records() {
	python3 - "$few" "$1" > "$tmp/want" << 'PYTHON'
import sys
few, absent = sys.argv[1], sys.argv[2] == "absent"
lines = open(few + "/keys.csv").read().splitlines(True)
print(lines[0], end="")
for line, age in zip(lines[1:], open(few + "/ages", "rb").read()):
    if (age == 255) == absent:
        print(line, end="")
PYTHON
}
records() {
	expected_records "$1"
	rm -f "$dir"/*
	epf audit "$few/snap" "$few/keys.csv" -F csv --header --fields key \
		-o "$dir/r" "${@:2}"
	[ "$status" = 0 ] && cmp -s "$dir/r" "$tmp/want"
}
claim 'records that are present, with the header' records present
claim 'records that are absent' records absent --absent
to_stdout() {
	expected_records present
	"$EPFCTL" audit "$few/snap" "$few/keys.csv" -F csv --header --fields 2 \
		-o - 2> "$tmp/err" | cmp -s - "$tmp/want" &&
		grep -q 'present  *3336 of' "$tmp/err"
}
claim 'records to standard output: the summary is on standard error' to_stdout
pcap_again() {
	rm -f "$dir"/*
	epf audit "$few/snap" "$few/keys.pcap" -o "$dir/r.pcap"
	[ "$status" = 0 ] || return
	epf -j audit "$few/snap" "$dir/r.pcap"
	json 'd["keys"] == d["present"] == 3336'
}
claim 'packets that are present make a capture, all of it present' pcap_again

# Several files
several() {
	rm -f "$dir"/*
	epf -j audit "$few/snap" "$few/digests" "$few/digests" "${columns[@]}" \
		-b "$dir/1" -b "$dir/2"
	[ "$status" = 0 ] && cmp -s "$dir/1" "$few/bitmap" &&
		cmp -s "$dir/2" "$few/bitmap" && [ "$(wc -l < "$tmp/out")" = 2 ]
}
claim 'several files: an answer and an output for each' several
fails 'give each output as often' audit "$few/snap" "$few/digests" "$few/digests" \
	"${columns[@]}" -b "$dir/1"

# Usage
fails 'either --key-len N or --digests' audit "$few/snap" "$few/column" -F column
fails 'either --key-len N or --digests' audit "$few/snap" "$few/column" --key-len 12 --digests
fails 'goes with --format column' audit "$few/snap" "$few/keys.csv" -F csv --key-len 3
fails 'is none of auto, column' audit "$few/snap" "$few/keys.csv" -F xml
fails 'too large: at most 256' audit "$few/snap" "$few/column" --key-len 257
fails 'a column has no records' audit "$few/snap" "$few/digests" "${columns[@]}" -o "$dir/r"
fails '--absent goes with' audit "$few/snap" "$few/keys.json" --absent
fails 'is none of auto, scalar' audit "$few/snap" "$few/keys.json" --engine abacus
mksnap --dict "$tmp/dict"
fails 'supports only filters of kind lanes: use --engine scalar' audit "$tmp/dict" \
	"$few/digests" "${columns[@]}" --engine ring
fails 'is none of auto, copy, live' audit "$few/snap" "$few/keys.json" --place here
fails 'place is for filters only' audit "$few/snap" "$few/keys.json" --place live
fails 'too large: at most 1024' audit "$few/snap" "$few/keys.json" --threads 1025
fails 'is not one character' audit "$few/snap" "$few/keys.csv" --separator ab
fails 'can be given only once' audit "$few/snap" - - -F csv
fails 'both need standard output' -j audit "$few/snap" "$few/keys.json" -o -
fails 'too few arguments' audit "$few/snap"
fails 'goes with neither' audit "$few/snap" "$few/keys.json" --agent x --no-agent
fails "$tmp/none: No such file" audit "$few/snap" "$few/keys.json" --agent "$tmp/none"

# Hostile input: one line for each, and no output file
nothing_left() { [ -z "$(ls -A "$dir")" ]; }
# hostile REGEX ARG...
hostile() {
	rm -f "$dir"/*
	fails "$@"
	nothing_left || ktap_diag "left: $(ls -A "$dir")"
}
head -c 1001 "$few/digests" > "$tmp/cut"
hostile 'cut: truncated, or not a column of 8-byte keys: 1 bytes' \
	audit "$few/snap" "$tmp/cut" "${columns[@]}" -b "$dir/b"
hostile 'keys.csv: .*field' audit "$few/snap" "$few/keys.csv" -F csv --fields 9 -b "$dir/b"
hostile 'keys.csv: .*no field.*nokey|keys.csv: .*nokey' audit "$few/snap" \
	"$few/keys.csv" -F csv --header --fields nokey -b "$dir/b"
truncate -s 2G "$tmp/line"
hostile 'line: .*line' audit "$few/snap" "$tmp/line" -F csv --fields 1 -b "$dir/b"
hostile 'line: .*line' audit "$few/snap" "$tmp/line" -F json --fields a -b "$dir/b"
mksnap "$tmp/other" version
hostile 'is of a version this program does not know: use the epfctl' \
	audit "$tmp/other" "$few/digests" "${columns[@]}" -b "$dir/b"
mksnap "$tmp/other" bits-per-key
hostile 'parameters that no filter can have' \
	audit "$tmp/other" "$few/digests" "${columns[@]}" -b "$dir/b"
cp "$few/snap" "$tmp/other"
flip "$tmp/other" 5000
hostile 'corrupt lines' audit "$tmp/other" "$few/digests" "${columns[@]}" \
	-b "$dir/b"
hostile 'nowhere: No such file' audit "$tmp/nowhere" "$few/digests" \
	"${columns[@]}" -b "$dir/b"
hostile 'nowhere: No such file' audit "$few/snap" "$tmp/nowhere" \
	"${columns[@]}" -b "$dir/b"
hostile 'Is a directory' audit "$few/snap" "$tmp" "${columns[@]}" -b "$dir/b"
hostile 'not a regular file' audit "$few/snap" <(cat "$few/digests") \
	"${columns[@]}" -b "$dir/b"
hostile 'format' audit "$few/snap" "$few/digests" -b "$dir/b"

# Outputs
cp "$few/digests" "$tmp/mine"
untouched() {
	fails 'would be overwritten' audit "$few/snap" "$tmp/mine" \
		"${columns[@]}" "$@"
}
untouched -b "$tmp/mine"
untouched -b "$dir/b" -a "$tmp/../${tmp##*/}/mine"
fails 'would be overwritten' audit "$few/snap" "$few/digests" "${columns[@]}" \
	-b "$few/snap"
claim 'input that would have been overwritten is what it was' \
	cmp "$tmp/mine" "$few/digests"
hostile 'would be written twice' audit "$few/snap" "$few/digests" \
	"${columns[@]}" -b "$dir/b" -a "$dir/./b"
hostile 'Is a directory' audit "$few/snap" "$few/digests" "${columns[@]}" \
	-b "$tmp"
hostile 'only records can go there' audit "$few/snap" "$few/digests" \
	"${columns[@]}" -b /dev/null
hostile 'No such file' audit "$few/snap" "$few/digests" "${columns[@]}" \
	-b "$tmp/nowhere/b"
hostile 'cannot write the records: No space' audit "$few/snap" \
	"$few/keys.json" -o /dev/full
too_large() {
	rm -f "$dir"/*
	(ulimit -f 100 && epf audit "$many/snap" "$many/digests" \
		"${columns[@]}" -b "$dir/b" -a "$dir/a" &&
		[ "$status" = 2 ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -q 'cannot write the .*: File too large' "$tmp/err") &&
		nothing_left
}
claim 'above the limit of file sizes: one line, nothing is left' too_large

# Faults and signals: injected FAULT ARG... ($within is of this architecture, and not preloaded)
export ASAN_OPTIONS=verify_asan_link_order=0
injected() {
	local how=--no-agent

	[[ " $* " != *' --agent '* ]] || how=
	rm -f "$struck"
	EPF_FAKE=$tmp EPF_STRUCK=$struck EPF_FAULT=$1 \
		${within:-} env LD_PRELOAD="$tmp/inject.so" "$EPFCTL" "${@:2}" $how \
		< /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
} 2> /dev/null # the shell reports killed children
column_job=(audit "$many/snap" "$many/digests" "${columns[@]}" -b "$dir/b"
	-a "$dir/a")
csv_job=(audit "$many/snap" "$many/keys.csv" -F csv --header --fields key
	-b "$dir/b" -o "$dir/r")
epf audit "$many/snap" "$many/keys.csv" -F csv --header --fields key \
	-o "$tmp/records"
# one_line [STATUS]
one_line() {
	[ "$status" = "${1:-2}" ] && [ ! -s "$tmp/out" ] &&
		[ "$(wc -l < "$tmp/err")" = 1 ] && grep -q '^error: ' "$tmp/err"
}
whole() {
	cmp -s "$dir/b" "$many/bitmap" &&
		{ [ ! -e "$dir/a" ] || cmp -s "$dir/a" "$many/ages"; } &&
		{ [ ! -e "$dir/r" ] || cmp -s "$dir/r" "$tmp/records"; }
}
# Existing files of the same names are old or new
old_or_new() {
	local name

	for name in a b; do
		[ "$(cat "$dir/$name")" = old ] ||
			cmp -s "$dir/$name" "$many/${want[$name]}" || return
	done 2> /dev/null
}
declare -A want=([a]=ages [b]=bitmap)
disk_fails() {
	local n

	for ((n = 1; n < 100; n++)); do
		rm -f "$dir"/*
		echo old | tee "$dir/a" > "$dir/b"
		injected "disk:$n:fail" "${column_job[@]}"
		[ -e "$struck" ] || break
		one_line && old_or_new && [ "$(ls -A "$dir")" = $'a\nb' ] ||
			return
	done
	[ "$n" -gt 8 ] && [ "$status" = 0 ] && whole
}
claim 'each step of writing fails: one line, the old file or the new' disk_fails
killed() {
	local n

	for ((n = 1; n < 100; n++)); do
		rm -f "$dir"/*
		injected "disk:$n:kill" "${column_job[@]}"
		[ -e "$struck" ] || break
		[ ! -e "$dir/b" ] || cmp -s "$dir/b" "$many/bitmap" || return
		[ ! -e "$dir/a" ] || cmp -s "$dir/a" "$many/ages" || return
	done
	[ "$n" -gt 8 ] && [ "$status" = 0 ] && whole
}
claim 'killed at each step: no half output under its name' killed
memory_fails() {
	local n

	for ((n = 1; n < 500; n++)); do
		rm -f "$dir"/*
		injected "alloc:$n:fail" audit "$few/snap" "$few/digests" \
			"${columns[@]}" -b "$dir/b"
		[ -e "$struck" ] || break
		[ "$status" = 0 ] || { one_line && nothing_left; } || return
	done
	[ "$n" -gt 5 ] && [ "$status" = 0 ]
}
claim 'each allocation fails: one line and nothing is left; or done' memory_fails

# Each transfer of data is short once, and then continues: the output is complete.
# Of many cases that are alike every fourth is tried, with EPF_THOROUGH each.
every=${EPF_THOROUGH:+1} every=${every:-4}
# short_each ARG...: of the reads and writes each, or each $step-th
short_each() {
	local n

	for ((n = 1; n < 300; n += ${step:-1})); do
		rm -f "$dir"/*
		[ -z "$from" ] || cp -p "$from"/* "$dir"
		injected "io:$n:short" "$@"
		[ -e "$struck" ] || break
		[ "$status" = 0 ] && whole || return
	done
	[ "$n" -gt 1 ] && [ "$n" -lt 300 ] && [ "$status" = 0 ] && whole
}
from=
claim 'a short read or write of a column: the same bytes' \
	short_each "${column_job[@]}"
step=$every claim 'the same of records' short_each "${csv_job[@]}"

# Interrupted and resumed
interrupted() {
	rm -f "$dir"/*
	injected "disk:$1:int" "${@:2}"
	one_line 130 && grep -q 'stopped after [0-9]* keys; .*--resume' "$tmp/err" &&
		[ ! -e "$dir/b" ] && [ ! -e "$dir/a" ] && [ ! -e "$dir/r" ] &&
		[ -e "$dir/b.partial" ] && [ -e "$dir/b.resume" ]
}
gone_on() {
	interrupted "$@" && cp "$dir/b.resume" "$tmp/state" || return
	injected '' "${@:2}" --resume -j
	[ "$status" = 0 ] && whole && json 'd["work"]["resumed_at"] > 0 and
		d["keys"] == 300007 and d["present"] == 200007' &&
		! ls "$dir" | grep -q '[.]'
}
claim 'a column, interrupted and gone on with: the same bytes' \
	gone_on 6 "${column_job[@]}"
claim 'the same of records' gone_on 6 "${csv_job[@]}"
short_resumed() {
	interrupted 4 "$@" || return
	rm -rf "$tmp/left" && cp -pr "$dir" "$tmp/left"
	from=$tmp/left short_each "$@" --resume
}
claim 'gone on with, a read or write short: the same bytes' \
	short_resumed "${column_job[@]}"
step=$every claim 'the same of records' short_resumed "${csv_job[@]}"
begun_anew() {
	interrupted 6 "$@" || return
	injected disk:6:int "$@"
	one_line 130 && [ -e "$dir/b.partial" ] && injected '' "$@" --resume
	[ "$status" = 0 ] && whole
}
claim 'interrupted, begun anew, interrupted and gone on with' begun_anew "${column_job[@]}"
many_times() {
	local n

	rm -f "$dir"/*
	for ((n = 0; n < 50; n++)); do
		injected disk:3:int "$@" --resume
		[ "$status" != 0 ] || break
		one_line 130 && [ ! -e "$dir/b" ] || return
	done
	[ "$n" -gt 1 ] && whole && ! ls "$dir" | grep -q '[.]'
}
claim 'interrupted at each step, gone on with each time' \
	many_times "${column_job[@]}"
claim 'the same of records' many_times "${csv_job[@]}"
fresh() {
	rm -f "$dir"/*
	echo old > "$dir/b" && chmod 640 "$dir/b"
	injected '' "${column_job[@]}" --resume
	[ "$status" = 0 ] && whole && [ "$(ls -A "$dir")" = $'a\nb' ] &&
		[ "$(stat -c %a "$dir/b")" = 640 ]
}
claim '--resume where there is nothing to go on with' fresh
not_kept() {
	rm -f "$dir"/*
	injected disk:4:int audit "$many/snap" "$many/digests" "${columns[@]}" \
		-a "$dir/a"
	one_line 130 && grep -q 'stopped; nothing was written' "$tmp/err" &&
		nothing_left
}
claim 'interrupted without a bitmap: nothing is left' not_kept
hostile '--resume needs' audit "$few/snap" "$few/digests" "${columns[@]}" \
	--resume
hostile '--resume needs' audit "$few/snap" <(cat "$few/keys.csv") -F csv \
	-b "$dir/b" --resume

# Files that an audit leaves, when files of those names exist
for suffix in partial resume; do
	cp "$few/digests" "$tmp/mine.$suffix"
	fails "mine.$suffix would be overwritten" audit "$few/snap" \
		"$tmp/mine.$suffix" "${columns[@]}" -b "$tmp/mine"
done
hostile 'b.partial would be written twice' audit "$few/snap" "$few/digests" \
	"${columns[@]}" -b "$dir/b" -a "$dir/b.partial"
others_partial() {
	rm -f "$dir"/*
	cp "$few/digests" "$dir/$1.partial"
	injected "disk:6:int" "${column_job[@]}"
	one_line 130 && grep -q 'cannot be kept: File exists' "$tmp/err" &&
		cmp "$dir/$1.partial" "$few/digests" || return
	injected '' "${column_job[@]}" --resume
	one_line && grep -q "$1.partial exists, but no state .*: remove it" \
		"$tmp/err" && cmp "$dir/$1.partial" "$few/digests" &&
		[ "$(ls -A "$dir")" = "$1.partial" ]
}
claim "somebody's b.partial" others_partial b
claim "somebody's a.partial" others_partial a

# Two snapshots that differ in the hash key, and so in the lines, but give the same
# verdicts: output and state files of an audit are equal, except for its duration and the
# error counted over the lines.
for key in 1 2; do
	mkdir "$tmp/key$key"
	"$tmp/mkaudit" "$tmp/key$key" 100003 $key
	touch -d @1700000000 "$tmp/key$key"/*
done
# seen_with KEY ARG...: prints its output; and its state, if interrupted
seen_with() (
	cd "$tmp/key$1" && rm -f out* || return
	umask 022
	injected disk:2:int audit snap column --key-len 12 -b out
	cat "$tmp/err"
	od -A d -t x8 out.resume && stat -c %a out.resume || return
	injected '' audit snap column --key-len 12 -b out --resume "${@:2}"
	[ "$status" = 0 ] && cmp out bitmap >&2 || return
	cat "$tmp/out" "$tmp/err"
	injected '' audit snap keys.csv -F json -b out2 "${@:2}"
	cat "$tmp/out" "$tmp/err"
)
key_is_hidden() {
	local key

	cmp -s "$tmp/key1/snap" "$tmp/key2/snap" && return 1
	for key in 1 2; do
		seen_with $key "$@" | sed -E '/^  (took|error) /d
			s/"(seconds|keys_per_second|fpr)":[^,}]*//g' > "$tmp/seen$key"
	done
	[ "$(wc -l < "$tmp/seen1")" -gt 10 ] && diff "$tmp/seen1" "$tmp/seen2" >&2
}
claim 'states, reports and errors do not depend on the hash key' key_is_hidden
claim 'the same with -j' key_is_hidden -j
private_state() {
	interrupted 4 "${column_job[@]}"
	[ "$(stat -c %a "$dir/b.resume")" = 600 ]
}
claim 'a state is for its owner only' private_state
renewed_snapshot() {
	interrupted 4 "${column_job[@]}" || return
	cp -p "$many/snap" "$tmp/moved"
	touch -d @1 "$many/snap"
	injected '' "${column_job[@]}" --resume
	mv "$tmp/moved" "$many/snap"
	one_line && grep -q 'of another snapshot' "$tmp/err"
}
claim 'a snapshot written anew is another one' renewed_snapshot

# States of other audits: refused in one line, and no data is lost.
# refused REGEX [ARG...]
refused() {
	local before

	before=$(cksum "$dir"/*)
	injected '' "${column_job[@]}" --resume "${@:2}"
	one_line && grep -qE "$1" "$tmp/err" && [ "$before" = "$(cksum "$dir"/*)" ]
}
interrupted 6 "${column_job[@]}"
rm -rf "$tmp/kept" && cp -pr "$dir" "$tmp/kept"
again() { rm -rf "$dir" && cp -pr "$tmp/kept" "$dir"; }
changed_state() {
	local size at

	size=$(stat -c %s "$dir/b.resume")
	for ((at = 0; at < size; at += 13 * every)); do
		again
		flip "$dir/b.resume" $at
		refused 'b.resume .*: remove it to begin again' || return
	done
	for at in 0 1 8 $((size - 1)); do
		again
		truncate -s "$at" "$dir/b.resume"
		refused 'is not the state of an audit' || return
	done
	again
	echo >> "$dir/b.resume"
	refused 'is not the state of an audit'
}
claim 'a state with any byte changed, cut, or longer' changed_state
# other REGEX FILE COMMAND...: refused while FILE is as the command makes it
other() {
	local ret

	again
	cp -p "$2" "$tmp/moved"
	"${@:3}"
	refused "$1"
	ret=$?
	mv "$tmp/moved" "$2"
	return $ret
}
claim 'a state of another snapshot' other 'of another snapshot' "$many/snap" \
	cp "$few/snap" "$many/snap"
claim 'a state of keys that have changed' other \
	'other keys, or they have changed since' "$many/digests" \
	touch -d @1 "$many/digests"
other_options() {
	again
	injected '' audit "$many/snap" "$many/digests" --format column \
		--digests -b "$dir/b" --resume
	one_line && grep -q 'with other options' "$tmp/err"
}
claim 'a state of other options' other_options
other_bitmap() {
	local answers

	for answers in a b; do
		again
		flip "$dir/$answers.partial" 100
		refused "$answers.partial is not what .*b.resume describes" || return
	done
	again
	truncate -s 100 "$dir/a.partial"
	refused 'more than the unfinished files have' || return
	again
	rm "$dir/b.partial"
	injected '' "${column_job[@]}" --resume
	one_line && grep -q 'more than the unfinished files have' "$tmp/err"
}
claim 'unfinished files that were changed' other_bitmap
other_records() {
	interrupted 6 "${csv_job[@]}" || return
	flip "$dir/r.partial" 100
	injected '' "${csv_job[@]}" --resume
	one_line && grep -q 'r.partial is not what .*b.resume describes' "$tmp/err"
}
claim 'unfinished records that were changed' other_records
planted() {
	again
	rm "$dir/b.resume" && mkfifo "$dir/b.resume"
	timeout 600 "$EPFCTL" "${column_job[@]}" --resume 2> "$tmp/err" && return 1
	grep -q 'is not the state of an audit' "$tmp/err" || return
	again
	mv "$dir/b.partial" "$tmp/elsewhere"
	ln -s "$tmp/elsewhere" "$dir/b.partial"
	injected '' "${column_job[@]}" --resume
	one_line && [ -L "$dir/b.partial" ] && [ -s "$tmp/elsewhere" ] || return
	again
	rm -f "$tmp/elsewhere"
	ln "$dir/b.partial" "$tmp/elsewhere" && cp "$tmp/elsewhere" "$tmp/was" || return
	injected '' "${column_job[@]}" --resume
	one_line && cmp "$tmp/elsewhere" "$tmp/was"
}
forged() {
	again && ./forge_state.py "$dir/b.resume" && refused 'b.resume is damaged: remove it'
}
claim 'a state whose counts by age are above its keys' forged
claim 'a pipe in place of a state, a link in place of an unfinished file' planted
still_good() {
	again
	injected '' "${column_job[@]}" --resume
	[ "$status" = 0 ] && whole
}
claim 'after all that, the right one is gone on with' still_good
# Each step of a resumed audit fails, or is the last one: it resumes again, or, if an
# output already has its name, it is refused.
gone_on_again() {
	local n named

	for ((n = 1; n < 100; n++)); do
		again
		injected "disk:$n:$1" "${column_job[@]}" --resume
		[ -e "$struck" ] || break
		[ "$1" = kill ] || one_line || return
		named=
		[ ! -e "$dir/b" ] || named=b
		[ ! -e "$dir/a" ] || named=a
		[ ! -e "$dir/b" ] || cmp "$dir/b" "$many/bitmap" || return
		[ ! -e "$dir/a" ] || cmp "$dir/a" "$many/ages" || return
		if [ -n "$named" ] && [ -e "$dir/b.resume" ]; then
			injected '' "${column_job[@]}" --resume
			one_line && grep -q 'more than the unfinished' \
				"$tmp/err" || return
			rm -f "$dir"/*.resume "$dir"/*.partial
		fi
		injected '' "${column_job[@]}" --resume -j
		[ "$status" = 0 ] && whole || return
		[ -n "$named" ] || json 'd["work"]["resumed_at"] > 0' || return
	done
	[ "$n" -gt 8 ] && [ "$status" = 0 ] && whole
}
claim 'each step of going on fails: nothing is lost' gone_on_again fail
claim 'killed at each step of going on: nothing is lost' gone_on_again kill

# By an agent. The first line of an agent says that it listens.
listens() {
	local i

	for ((i = 0; i < 600; i++)); do
		! grep -qs '^epfagent ' "$1" || return 0
		sleep 0.1
	done
	return 1
}
agent_begins() {
	mkdir "$tmp/agent"
	"$agent" --config /dev/null --socket "$tmp/agent/sock" \
		2> "$tmp/agent/log" &
	ktap_cleanup kill $!
	listens "$tmp/agent/log"
}
by_agent() {
	answered "$@" -j --agent "$tmp/agent/sock" &&
		json 'd["work"]["by_agent"] and
			d["asked"]["epoch"] == 40'
}
resumed_by_agent() {
	interrupted 6 "${column_job[@]}" || return
	injected '' "${column_job[@]}" --resume -j --agent "$tmp/agent/sock"
	[ "$status" = 0 ] && whole && json 'd["work"]["resumed_at"] > 0 and
		d["work"]["by_agent"] and d["present"] == 200007'
}
# An agent that does not report progress for longer than the interval at which a state is
# saved, and then interrupts epfctl.
slow_agent() {
	python3 - "$1" << 'PYTHON'
import json, os, signal, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen()
print("epfagent listens", flush=True)
c = s.accept()[0]
c.recv(1 << 16)
none = {"mark": {"keys": 0, "present": 0, "ages": [0] * 255,
                 "record_bytes": 0}, "keys_all": 0, "bytes": 0,
        "bytes_all": 0, "keyless": 0, "bad": 0, "bitmap_xxh3": "0" * 16,
        "format": "column", "engine": "scalar", "why": ""}
none = json.dumps({"state": none}).encode()
time.sleep(5.1)
c.send(none)
pid = struct.unpack("3i", c.getsockopt(socket.SOL_SOCKET,
                                       socket.SO_PEERCRED, 12))[0]
os.kill(pid, signal.SIGINT)
try:
    while True:
        c.send(none)
        time.sleep(0.01)
except OSError:
    pass
PYTHON
}
kept_while_waiting() {
	interrupted 6 "${column_job[@]}" && cp "$dir/b.resume" "$tmp/state" ||
		return
	slow_agent "$tmp/agent/slow" > "$tmp/agent/slow.log" &
	listens "$tmp/agent/slow.log" || return
	injected '' "${column_job[@]}" --resume --agent "$tmp/agent/slow"
	wait $!
	one_line 130 && grep -q 'stopped after [1-9][0-9]* keys; .*--resume' \
		"$tmp/err" && cmp "$dir/b.resume" "$tmp/state" || return
	injected '' "${column_job[@]}" --resume -j
	[ "$status" = 0 ] && whole && json 'd["work"]["resumed_at"] > 0'
}
# An agent that never answers
silent_agent() {
	python3 - "$1" << 'PYTHON'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen()
print("epfagent listens", flush=True)
c = s.accept()[0]
while c.recv(1 << 16):
    pass
PYTHON
}
# A signal that comes before epfctl waits for it
stops_waiting() {
	silent_agent "$tmp/agent/silent" > "$tmp/agent/silent.log" &
	listens "$tmp/agent/silent.log" || return
	within='timeout -s KILL 600' injected agent:1:int \
		"${column_job[@]}" --agent "$tmp/agent/silent"
	wait $!
	one_line 130 && grep -q 'stopped; nothing was written' "$tmp/err"
}
# Requests that the protocol cannot express are done by epfctl itself:
# unsayable SED ARG...
unsayable() {
	LC_ALL=C sed "$1" "$few/keys.csv" > "$tmp/odd.csv"
	rm -f "$dir"/*
	EPF_AGENT_AT=$tmp/agent/sock LD_PRELOAD=$tmp/inject.so "$EPFCTL" -j \
		audit "$few/snap" "$tmp/odd.csv" -F csv --header -b "$dir/b" \
		"${@:2}" < /dev/null > "$tmp/out" 2> "$tmp/err" &&
		cmp -s "$dir/b" "$few/bitmap" &&
		json 'not d["work"]["by_agent"]' || return
	fails 'needs names in UTF-8' audit "$few/snap" "$tmp/odd.csv" -F csv \
		--header --agent "$tmp/agent/sock" "${@:2}" | grep -q '^ok'
}
unsayables() {
	unsayable '1s/key/k\xe4y/' --fields $'k\xe4y' &&
		unsayable '1s/key/k\x01y/' --fields $'k\x01y' &&
		unsayable 's/,/\xa7/g' --fields key --separator $'\xa7'
}
# The agent is killed at each step of writing, so also in the middle of keys whose
# position in the file it reports: they are read again, and the outputs made anew.
# dies N ARG...: killed at the N-th step; $status of the audit
dies() {
	local killed=$tmp/agent/mortal$1

	rm -f "$killed.log" # left by the audit before

	EPF_DIE=$1 LD_PRELOAD=$tmp/die.so "$agent" --config /dev/null \
		--socket "$killed" --step 1000 2> "$killed.log" &
	listens "$killed.log"
	rm -f "$dir"/*
	EPF_AGENT_AT=$killed LD_PRELOAD=$tmp/inject.so "$EPFCTL" -j "${@:2}" \
		< /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
	kill -9 $! && wait $!
	[ "$status" = 0 ]
} 2> /dev/null # the shell reports killed children
agent_dies() {
	local n

	for ((n = 1; n < 12; n++)); do
		dies $n "$@" && json 'not d["work"]["by_agent"]' && whole &&
			! ls "$dir" | grep -q '[.]' || return
	done
	dies 100000 "$@" && json 'd["work"]["by_agent"]' && whole
}
# An agent does not accept files open for appending.
appends() {
	expected_records present
	echo before > "$tmp/appended"
	EPF_AGENT_AT=$tmp/agent/sock LD_PRELOAD=$tmp/inject.so "$EPFCTL" \
		audit "$few/snap" "$few/keys.csv" -F csv --header --fields key \
		-o - < /dev/null >> "$tmp/appended" 2> "$tmp/err" &&
		cmp "$tmp/appended" <(echo before; cat "$tmp/want")
}
agent=${EPF_AGENT:-$(dirname "$EPFCTL")/epfagent}
if [ -x "$agent" ] && agent_begins; then
	claim 'an agent: the same bytes of a column' \
		by_agent "$many" "$many/column" --key-len 12
	claim 'an agent: the same of CSV' \
		by_agent "$few" "$few/keys.csv" -F csv --header --fields key
	claim 'an agent goes on with what was interrupted here' resumed_by_agent
	hostile 'cut: .*truncated' audit "$few/snap" "$tmp/cut" "${columns[@]}" \
		-b "$dir/b" --agent "$tmp/agent/sock"
	hostile 'regular files only' audit "$few/snap" <(cat "$few/keys.csv") \
		-F csv -b "$dir/b" --agent "$tmp/agent/sock"
	claim 'interrupted before an agent began: the state stays' \
		kept_while_waiting
	claim 'interrupted before an agent is waited for' stops_waiting
	claim 'fields that are no UTF-8, separators that are no ASCII' unsayables
	claim 'records appended to a file, though there is an agent' appends
	claim 'an agent that dies in mid-audit: the same as without' \
		agent_dies "${csv_job[@]}"
	claim 'the same of a column' agent_dies "${column_job[@]}"
	claim 'the same with --resume' agent_dies "${csv_job[@]}" --resume
else
	for what in column CSV resume truncated pipe waiting silent UTF-8 append death 'death, column' \
		'death, --resume'; do
		ktap_skip "an agent: $what" 'epfagent is not there'
	done
fi

ktap_finish
