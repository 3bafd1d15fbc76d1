#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs test programs that print TAP, in the manner of kselftest's runner, and
# counts their test points. Guarantees:
#  - the last line is "N passed, N failed, N skipped", alone;
#  - exit status 0 means that nothing failed and something passed;
#  - programs that run side by side (-j) are reported one after another, in
#    the order given;
#  - a program that dies, hangs, prints no plan or not the planned number of
#    points, or exits non-zero without a failed point, is a failed point of
#    its own.

set -u

here=$(cd "$(dirname "$0")" && pwd)

usage() {
	cat <<'USAGE'
usage: selftests/runner.sh [-j JOBS] [-t SECONDS] PROGRAM...

  -j JOBS       programs at a time (1)
  -t SECONDS    time limit of one program (EPF_TIMEOUT, or timeout= in
                selftests/settings)

A PROGRAM written vm:PATH runs in a guest of its own (selftests/vm/run.sh),
or directly when this already is one. EPF_VM_OPTIONS holds further options
for the guest. A program exits 4 when it cannot run here.
USAGE
}

timeout=${EPF_TIMEOUT:-$(sed -n 's/^timeout=//p' "$here/settings")}
jobs=1
while getopts j:t:h option; do
	case $option in
	j) jobs=$OPTARG ;;
	t) timeout=$OPTARG ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2; exit 2; }

end="runner-$$-$RANDOM-end"
out=$(mktemp -d) || exit 1
passed=0 failed=0 skipped=0

# usage: start PROGRAM; prints the program's output, then the end line
start() {
	local path=${1#vm:} guest=
	[ "$path" = "$1" ] || [ -n "${EPF_VM:-}" ] || guest=1
	[[ $path = */* ]] || path=./$path
	# Dies with its shell. The guest's own time limit comes first, so that
	# it can show its kernel's log.
	local limit=(setpriv --pdeathsig TERM timeout -k 10)
	if [ -n "$guest" ]; then
		# shellcheck disable=SC2086 # a list of options
		"${limit[@]}" $((timeout + 20)) "$here/vm/run.sh" --timeout "$timeout" \
			${EPF_VM_OPTIONS:-} -- "$path"
	else
		"${limit[@]}" "$timeout" "$path"
	fi < /dev/null 2>&1
	printf '\n%s %d\n' "$end" $?
}

# usage: start_all PROGRAM...; the output of the n-th goes to $out/n
start_all() {
	local n=0 program
	# shellcheck disable=SC2046 # a list
	trap 'kill $(jobs -p) 2>/dev/null; exit' TERM
	for program in "$@"; do
		[ "$n" -lt "$jobs" ] || wait -n
		n=$((n + 1))
		start "$program" > "$out/$n" &
	done
	wait
}

# usage: run NUMBER PROGRAM
run() {
	local name=${2##*/} line follow
	local status='' plan='' points=0 bad=0 skips=0 why=''
	[ "${2#vm:}" = "$2" ] || name=vm:$name

	echo "# selftests: $name"
	exec {lines}< <(exec tail -s 0.2 -n +1 -F "$out/$1" 2>/dev/null)
	follow=$!
	while IFS= read -r line <&"$lines"; do
		case $line in
		"$end "*) status=${line##* }; break ;;
		'') continue ;;
		ok | ok\ *)
			points=$((points + 1))
			[[ ! $line =~ \#\ *[Ss][Kk][Ii][Pp] ]] || skips=$((skips + 1))
			;;
		'not ok'*) points=$((points + 1)) bad=$((bad + 1)) ;;
		1..[0-9]*)
			[[ $line =~ ^1\.\.([0-9]+) ]] && plan=${BASH_REMATCH[1]}
			;;
		esac
		printf '  %s\n' "$line"
	done
	kill "$follow"
	exec {lines}<&-

	if [ "$status" -eq 4 ] && [ "$bad" -eq 0 ]; then
		[ "$points" -gt 0 ] || skips=1 points=1
		echo "ok $1 $name # SKIP"
	else
		if [ "$status" -eq 124 ]; then
			why="TIMEOUT $timeout seconds"
		elif [ -z "$plan" ]; then
			why="no plan, exit=$status"
		elif [ "$plan" -ne "$points" ]; then
			why="planned $plan, ran $points, exit=$status"
		elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
			why="exit=$status"
		elif [ "$points" -eq 0 ]; then
			why='no test points'
		fi
		if [ -n "$why" ]; then
			points=$((points + 1)) bad=$((bad + 1))
			echo "not ok $1 $name # $why"
		elif [ "$bad" -gt 0 ]; then
			echo "not ok $1 $name # exit=$status"
		else
			echo "ok $1 $name"
		fi
	fi
	passed=$((passed + points - bad - skips))
	failed=$((failed + bad))
	skipped=$((skipped + skips))
}

echo 'TAP version 13'
echo "1..$#"
start_all "$@" &
all=$!
trap 'kill "$all" 2>/dev/null; rm -rf "$out"' EXIT
number=0
for program in "$@"; do
	number=$((number + 1))
	run "$number" "$program"
done
wait "$all"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
