#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: run.sh [SECONDS [TARGET]...]
#
# Fuzzes each target from its seeds and its corpus: a fixed number of runs with a fixed
# seed, then the mutants, which must be found. With SECONDS it fuzzes for that CPU time
# without mutants, and keeps new inputs in build/selftests/fuzz/found/TARGET. Inputs that
# make a target fail are left in build/selftests/fuzz/failed.

. "$(dirname "$0")/../ktap.sh"
cd "$(dirname "$0")" || exit 1
out=${BUILD:-../../build}/selftests/fuzz
seconds=${1:-}
[ $# -eq 0 ] || shift

[ -x "$out/packet" ] ||
	ktap_skip_all "clang or its fuzzer runtime (libclang-rt-dev) is missing"

targets=${*:-packet snap keys capture options records parts merge build conf wire cluster}
# The number of runs that takes about 2 s, of which half are done without EPF_THOROUGH, and the
# longest useful input.
declare -A runs=([packet]=150000 [snap]=8000 [keys]=4000 [capture]=2000 [options]=40000 [records]=4000 [parts]=4000 [merge]=4000 [build]=500 [conf]=8000 [wire]=20000 [cluster]=4000)
declare -A longest=([packet]=700 [snap]=800 [keys]=1500 [capture]=2048 [options]=512 [records]=1500 [parts]=1000 [merge]=300 [build]=1500 [conf]=2048 [wire]=4096 [cluster]=1500)
variants=(packet_bound snap_sum records_late parts_end merge_old merge_early build_after conf_place wire_twice cluster_since)
[ -z "${EPF_THOROUGH:-}" ] ||
	variants+=(packet_fragment snap_length snap_desc keys_length capture_leftover options_zero)

TMPDIR=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d) || exit 1
export TMPDIR
export LLVM_PROFILE_FILE=/dev/null # reach.py counts lines
ktap_cleanup rm -rf "$TMPDIR"
# A megabyte is allocated in each run; a large quarantine makes that slow.
export ASAN_OPTIONS=quarantine_size_mb=4:${ASAN_OPTIONS:-}
log=$TMPDIR/log
mkdir -p "$out/failed"

# usage: fuzz PROGRAM TARGET DIR OPTION...: new inputs go to DIR
fuzz() {
	local program=$1 target=$2 new=$3
	shift 3
	mkdir -p "$new"
	"$program" -max_len="${longest[$target]}" -timeout=60 -rss_limit_mb=4096 \
		-artifact_prefix="$out/failed/$target-" -print_final_stats=1 "$@" \
		"$new" "$out/seeds/$target" "corpus/$target" > "$log" 2>&1
}

reached() {
	sed -nE 's/^#[0-9]+.*(DONE|pulse|NEW|REDUCE|RELOAD|INITED).* cov: ([0-9]+) ft: ([0-9]+).*/\2 edges, \3 features/p' \
		"$log" | tail -n 1
}

# Prints the number of runs of the last fuzz.
executed() {
	sed -n 's/^stat::number_of_executed_units: *//p' "$log"
}

# usage: clean TARGET NEW-DIR OPTION...: reports a failure
clean() {
	local target=$1
	shift
	fuzz "$out/$target" "$target" "$@" && return
	ktap_fail "$target" "$(grep -E -m 3 'law broken|ERROR|SUMMARY' "$log"
		tail -n 40 "$log")"
	return 1
}

# usage: for_long TARGET: repeats, because a busy machine gives less CPU time than asked
# for
for_long() {
	local left=$seconds used total=0
	local TIMEFORMAT='%U %S'
	while [ "$left" -gt 0 ]; do
		{ time clean "$1" "$out/found/$1" -max_total_time="$left" >&3; } 3>&1 \
			2> "$TMPDIR/time" || return
		used=$(awk '{ printf "%d", $1 + $2 + 1 }' "$TMPDIR/time")
		left=$((left - used))
		total=$((total + $(executed)))
	done
	ktap_ok "$1: $total runs in $((seconds - left)) s, $(reached)"
}

# usage: for_short TARGET
for_short() {
	local number=${runs[$1]}
	[ -x "$out/$1" ] || { ktap_skip "$1" 'libisal-dev is missing'; return; }
	[ -n "${EPF_THOROUGH:-}" ] || number=$((number / 2))
	clean "$1" "$TMPDIR/new/$1" -seed=1 -runs="$number" &&
		ktap_ok "$1: $(executed) runs, $(reached)"
}

# usage: found VARIANT: do the seeds and the corpus find the mutant?
found() {
	local target=${1%%_*} why
	[ -x "$out/$target" ] || { ktap_skip "broken variant $1 is found" 'libisal-dev is missing'; return; }
	if fuzz "$out/broken/$1/fuzz" "$target" "$TMPDIR/broken/$1" -runs=0 \
		-artifact_prefix="$TMPDIR/"; then
		ktap_fail "broken variant $1 is found" "$(executed) runs without a fault"
		return
	fi
	why=$(grep -oE -m 1 'law broken: .*|AddressSanitizer: [a-zA-Z-]+|runtime error: .*' "$log")
	ktap_is "broken variant $1 is found: ${why#*: }" "${why:+a reason}" 'a reason'
}

if [ -n "$seconds" ]; then
	# shellcheck disable=SC2086 # a list
	set -- $targets
	ktap_plan $#
	for target in $targets; do
		for_long "$target"
	done
else
	# shellcheck disable=SC2086 # a list
	set -- $targets
	ktap_plan $(($# + ${#variants[@]}))
	for target in $targets; do
		for_short "$target"
	done
	for variant in "${variants[@]}"; do
		found "$variant"
	done
fi
ktap_finish
