#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs test programs that print TAP, in the manner of kselftest's runner, and
# counts their test points. Guarantees:
#  - the last line is "N passed, N failed, N skipped", alone;
#  - exit status 0 means that nothing failed and something passed;
#  - programs that run side by side (-j) are reported one after another, in
#    the order given;
#  - a program that dies, hangs, prints no plan or not the planned number of points, or
#    exits non-zero without a failed point, counts as a failed point;
#  - a program that fails runs once more, with another EPF_SEED, unless it violated a
#    property (judge.awk). If it then passes, the closing lines name it as unsteady, and
#    its whole output is kept in build/unsteady;
#  - the closing lines tell the duration of each program, and the probability that a run
#    fails by chance; more than 1e-4 is a failure.

set -u
# Tests of filters that run without the module set this themselves.
export EPF_BACKEND=${EPF_BACKEND:-module}

here=$(cd "$(dirname "$0")" && pwd)
top=${here%/*}

usage() {
	cat <<'USAGE'
usage: selftests/runner.sh [-j JOBS] [-t SECONDS] PROGRAM...

  -j JOBS       programs at a time (1)
  -t SECONDS    time limit of one program (EPF_TIMEOUT, or timeout= in
                selftests/settings)

A PROGRAM written vm:PATH runs in a guest of its own (selftests/vm/run.sh),
or directly when this already is one. EPF_VM_OPTIONS holds further options
for the guest. boot:NAME is one guest for several programs (selftests/boot.sh).
A program exits 4 when it cannot run here. EPF_SEED is the number that tests
draw from (0); EPF_UNSTEADY the folder for the output of unsteady programs.
USAGE
}

timeout=${EPF_TIMEOUT:-$(sed -n 's/^timeout=//p' "$here/settings")}
export EPF_SEED=${EPF_SEED:-0}
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
unsteady=${EPF_UNSTEADY:-${BUILD:-$top/build}/unsteady}
passed=0 failed=0 skipped=0
most_by_luck=1e-4
TIMEFORMAT='%R %U %S'

# usage: name_of PROGRAM: prints its name as "make check T=" takes it, such as
# core/kind_ge
name_of() {
	local path=${1#vm:} prefix='' dir
	case $1 in
	boot:*) echo "$1"; return ;;
	vm:*) prefix=vm: ;;
	esac
	case $path in
	*/selftests/*.*) path=${path##*/selftests/} ;;
	*/*) dir=${path%/*} path=${dir##*/}/${path##*/} ;;
	*) path=./$path ;;
	esac
	path=${path%.sh}
	echo "$prefix${path%.py}"
}

# usage: command_of PROGRAM: sets the array command. Whatever it starts dies with its
# shell. A guest has a shorter limit of its own, so that it can still print its kernel's
# log.
command_of() {
	local path=${1#vm:} guest=
	[ "$path" = "$1" ] || [ -n "${EPF_VM:-}" ] || guest=1
	[[ $path = */* ]] || path=./$path
	command=(setpriv --pdeathsig TERM timeout -k 10)
	if [[ $1 = boot:* ]]; then
		command+=($((3 * timeout)) "$here/boot.sh" --timeout "$timeout" "${1#boot:}")
	elif [ -n "$guest" ]; then
		# shellcheck disable=SC2206 # a list of options
		command+=($((timeout + 20)) "$here/vm/run.sh" --timeout "$timeout"
			${EPF_VM_OPTIONS:-} -- "$path")
	else
		command+=("$timeout" "$path")
	fi
}

# usage: attempt NUMBER TRY PROGRAM: output in $out/NUMBER.TRY, verdict in
# $out/NUMBER.verdict, one line of $out/NUMBER.times
attempt() {
	local command status
	command_of "$3"
	{ time "${command[@]}" < /dev/null > "$out/$1.$2" 2>&1; } 2>> "$out/$1.times"
	status=$?
	awk -f "$here/judge.awk" -v status="$status" -v timeout="$timeout" \
		-v suite="$([[ $3 != boot:* ]] || echo 1)" "$out/$1.$2" > "$out/$1.verdict"
}

# usage: start NUMBER PROGRAM: runs it, twice if needed. An output is complete when its
# last line is the end line, which says whether another attempt follows.
start() {
	local verdict
	attempt "$1" 1 "$2"
	read -r verdict _ < "$out/$1.verdict"
	if [ "$verdict" = again ]; then
		printf '\n%s again\n' "$end" >> "$out/$1.1"
		EPF_SEED=$((EPF_SEED + 1)) attempt "$1" 2 "$2"
		printf '\n%s\n' "$end" >> "$out/$1.2"
	else
		printf '\n%s\n' "$end" >> "$out/$1.1"
	fi
}

# usage: start_all PROGRAM...
start_all() {
	local n=0 program
	# shellcheck disable=SC2046 # a list
	trap 'kill $(jobs -p) 2>/dev/null; exit' TERM
	for program in "$@"; do
		[ "$n" -lt "$jobs" ] || wait -n
		n=$((n + 1))
		start "$n" "$program" 2> "$out/$n.errors" &
	done
	wait
}

# usage: show FILE: prints its lines as they arrive; status 1: another attempt follows
show() {
	local line follow again=0
	exec {lines}< <(exec tail -s 0.2 -n +1 -F "$1" 2>/dev/null)
	follow=$!
	while IFS= read -r line <&"$lines"; do
		case $line in
		"$end") break ;;
		"$end again") again=1; break ;;
		'') continue ;;
		esac
		printf '  %s\n' "$line"
	done
	kill "$follow"
	exec {lines}<&-
	return $again
}

# usage: keep NAME FILE...: keeps the output for whoever investigates
keep() {
	local log
	log=$unsteady/$(tr -c 'A-Za-z0-9_.\n-' - <<< "$1").log
	mkdir -p "$unsteady" && shift && grep -hv "^$end" "$@" > "$log"
	echo "$log"
}

# usage: run NUMBER PROGRAM
run() {
	local name verdict good bad skips why tries=1
	name=$(name_of "$2")
	echo "# selftests: $name"
	if ! show "$out/$1.1"; then
		tries=2
		echo "# once more, with EPF_SEED=$((EPF_SEED + 1)): $name"
		show "$out/$1.2"
	fi
	read -r verdict good bad skips why < "$out/$1.verdict"
	case $verdict in
	skip) echo "ok $1 $name # SKIP" ;;
	pass) echo "ok $1 $name" ;;
	*) echo "not ok $1 $name # ${why:-no verdict}, EPF_SEED=$((EPF_SEED + tries - 1))" ;;
	esac
	passed=$((passed + ${good:-0}))
	failed=$((failed + ${bad:-1}))
	skipped=$((skipped + ${skips:-0}))
	closing "$name" "$1" $tries "$verdict"
}

# usage: closing NAME NUMBER TRIES VERDICT: prints its closing lines, and those of the
# programs inside a guest
closing() {
	awk -v name="$1" '{ real += $1; cpu += $2 + $3 }
		END { printf "# time %.1f %.1f %s\n", cpu, real, name }' "$out/$2.times" >> "$out/closing"
	[[ $1 != boot:* ]] || sed -n 's/^# time \([0-9. ]*\) \(.*\)/# time \1 '"${1//\//\\/}"' > \2/p' \
		"$out/$2.$3" >> "$out/closing"
	if [ "$3" -eq 2 ] && [ "$4" = pass ]; then
		echo "# unsteady: $1, log: $(keep "$1" "$out/$2".[12])" >> "$out/closing"
	elif [[ $1 = boot:* ]]; then
		sed -n 's/^# unsteady: \(.*\), log: .*/\1/p' "$out/$2.$3" | while read -r inner; do
			echo "# unsteady: $1 > $inner, log: $(keep "$1-$inner" "$out/$2.$3")"
		done >> "$out/closing"
	fi
}

# Sums up the probability that a correct run fails by chance: statistical points state
# theirs, whether they passed or not. A sum above the limit is a failure.
close_chances() {
	local sum points more
	read -r sum points more < <(cat "$out"/*.1 | tr -d '\r' | awk -v most="$most_by_luck" '
		/^ *(not )?ok .*# chance [0-9][0-9.]*(e-?[0-9]+)?$/ { sum += $NF; n++ }
		END { print sum + 0, n + 0, (sum > most) }')
	[ "$points" -eq 0 ] || echo "# chance: $points statistical points, by luck one fails in $sum of runs"
	if [ "$more" -eq 1 ]; then
		failed=$((failed + 1))
		echo "not ok - by luck a run fails in less than $most_by_luck of runs"
	fi
}

# Prints the longest programs first, then the sums of the suites, in which a guest itself
# counts nothing because its programs count, then the unsteady programs.
close_report() {
	echo '# times: seconds of CPU, seconds, program'
	grep '^# time ' "$out/closing" | sort -k 3,3 -g -r
	echo '# suites: seconds of CPU'
	awk '/^# time / && $5 !~ /^boot:/ || / > / {
			name = $NF
			sub(/^vm:/, "", name)
			sub(/\/.*/, "", name)
			sum[name] += $3
		}
		END { for (name in sum) printf "# suite %.1f %s\n", sum[name], name }' \
		"$out/closing" | sort -k 3,3 -g -r
	grep '^# unsteady: ' "$out/closing"
	return 0
}

# A function, because the shell reads a script while running it, and the file may be
# edited meanwhile.
main() {
	local number=0 program
	echo 'TAP version 13'
	echo "1..$#"
	start_all "$@" &
	all=$!
	trap 'kill "$all" 2>/dev/null; rm -rf "$out"' EXIT
	for program in "$@"; do
		number=$((number + 1))
		run "$number" "$program"
	done
	wait "$all"
	close_report
	close_chances
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

main "$@"
