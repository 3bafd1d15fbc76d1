#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs test programs that print TAP, in the manner of kselftest's runner, and
# counts their test points. Guarantees:
#  - the last line is "N passed, N failed, N skipped", alone;
#  - exit status 0 means that nothing failed and something passed;
#  - a program that dies, hangs, prints no plan or not the planned number of
#    points, or exits non-zero without a failed point, is a failed point of
#    its own.

set -u
shopt -s lastpipe

here=$(cd "$(dirname "$0")" && pwd)

usage() {
	cat <<'USAGE'
usage: selftests/runner.sh [-t SECONDS] PROGRAM...

  -t SECONDS    time limit of one program (EPF_TIMEOUT, or timeout= in
                selftests/settings)

A PROGRAM written vm:PATH runs in a guest of its own (selftests/vm/run.sh),
or directly when this already is one. EPF_VM_OPTIONS holds further options
for the guest. A program exits 4 when it cannot run here.
USAGE
}

timeout=${EPF_TIMEOUT:-$(sed -n 's/^timeout=//p' "$here/settings")}
while getopts t:h option; do
	case $option in
	t) timeout=$OPTARG ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2; exit 2; }

end="runner-$$-$RANDOM-end"
passed=0 failed=0 skipped=0

# usage: start WHERE PATH; prints the program's output, then the end line
start() {
	# Dies with this shell. The guest's own time limit comes first, so that
	# it can show its kernel's log.
	local limit=(setpriv --pdeathsig TERM timeout -k 10)
	if [ "$1" = vm ] && [ -z "${EPF_VM:-}" ]; then
		# shellcheck disable=SC2086 # a list of options
		"${limit[@]}" $((timeout + 20)) "$here/vm/run.sh" --timeout "$timeout" \
			${EPF_VM_OPTIONS:-} -- "$2"
	else
		"${limit[@]}" "$timeout" "$2"
	fi < /dev/null 2>&1
	printf '\n%s %d\n' "$end" $?
}

# usage: run NUMBER PROGRAM
run() {
	local where=host path=$2 name line
	local status='' plan='' points=0 bad=0 skips=0 why=''
	case $2 in
	vm:*) where=vm path=${2#vm:} ;;
	esac
	name=${path##*/}
	[ "$where" = host ] || name=vm:$name
	case $path in
	*/*) ;;
	*) path=./$path ;;
	esac

	echo "# selftests: $name"
	start "$where" "$path" | while IFS= read -r line; do
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
number=0
for program in "$@"; do
	number=$((number + 1))
	run "$number" "$program"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
