#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: check.sh fast|all|kernels|debug
#        check.sh only PATTERN
#
# Builds what is needed, then runs the tests, the longest first (selftests/durations). Two programs
# more than there are CPUs run at a time, because some mostly wait. fast: the tests that need no
# virtual machine, without the mutants, which test the tests, and without the longest ones; all: also the tests that need the
# module, in guests; kernels: in full all that depends on the kernel, on each kernel; debug: in full
# the tests of which "all" runs a part, and the tests of the module on kernels that look for errors
# themselves; only: the tests whose names match, such as core/kind_ge or 'xdp/*'. Ends with the
# duration of each test and one line of totals; exit status 0 means that nothing failed and something
# passed.

set -u
cd "$(dirname "$0")/.." || exit 1
here=$PWD/selftests
jobs=${JOBS:-$(($(nproc) + 2))}
export MAKEFLAGS=--no-print-directory

case $#${1:-} in
1fast | 1all | 1kernels | 1debug | 2only) ;;
*) echo "usage: check.sh fast|all|kernels|debug, or check.sh only PATTERN" >&2; exit 2 ;;
esac

build() {
	make -j "$jobs" -C "$@" || exit 1
}

# usage: longest_first; sorts programs in the format of runner.sh; one of unknown duration
# counts a minute
longest_first() {
	awk 'FNR == NR { if (!/^#/) seconds[$2] = $1; next }
		{
			name = $1
			sub(/.*\/selftests\//, "", name)
			sub(/\.(sh|py)$/, "", name)
			print (name in seconds ? seconds[name] : 60), $0
		}' "$here/durations" - | sort -s -g -r | cut -d ' ' -f 2-
}

native() {
	"$here/tests.sh" | awk '$2 == "native" { print $3 }'
}

# The native tests but those that take longest for what they tell about one change; most repeat
# others with sanitizers, with more cases, or with other compilers.
fast() {
	native | grep -vE -e broken -e '/(install|fuzz|paper|explore)/' -e '[/_](sanitized|tsan)(\.sh)?$' \
		-e '/cuda/(resources|instructions)' -e '/cli/(reboot|lost)' \
		-e '/(core/flood|dedup/test_modes|check/dist|agent/fair)'
}

# usage: boots TARGET
boots() {
	awk -v target="$1" '!/^#/ && $4 == target { print "boot:" $1 }' "$here/boots"
}

# Prints the boots, and for each program that is in no boot a guest of its own.
guests() {
	boots check
	"$here/tests.sh" --guest | while read -r name _ path; do
		grep -v '^#' "$here/boots" | grep -qE " $name( |\$)" ||
			echo "vm:$path"
	done
}

run() {
	local programs
	mapfile -t programs < <(longest_first)
	EPF_BUILT=1 "$here/runner.sh" -j "$jobs" "${programs[@]}"
}

# Does this suite need the user space tools?
needs_user() {
	case $1 in core/* | explore/* | paper/* | style) return 1 ;; esac
}

# usage: build_for NAME WHERE PATH
build_for() {
	local suite=${1%%/*}
	! needs_user "$1" || build user
	if [ "$2" = guest ]; then
		case $1 in *_vm) build kmod ;; bpf/* | demo/* | ebpf/*) ;; *) build kmod ;; esac
		case $suite in torture) ;; *) build "selftests/$suite" ;; esac
		[ "$suite" != torture ] || build selftests/torture
	elif [ "$suite" = module ]; then
		build kmod
	elif [[ $3 = */build/selftests/* ]]; then
		build "selftests/$suite" "$3"
	elif [ -e "selftests/$suite/Makefile" ]; then
		build "selftests/$suite"
	fi
	[ "$suite" != gpu ] || build selftests/audit
}

# All matching programs that need a guest share one boot.
only() {
	local list programs=() guest=() name where path
	list=$("$here/tests.sh" "$1") || exit
	while read -r name where path; do
		build_for "$name" "$where" "$path" >&2
		if [ "$where" = guest ]; then guest+=("$name"); else programs+=("$path"); fi
	done <<< "$list"
	[ ${#guest[@]} -eq 0 ] || programs+=("boot:$(IFS=, && echo "${guest[*]}")")
	"$here/runner.sh" -j "$jobs" "${programs[@]}"
}

# Runs in full the tests of which "make check" runs a part: mutants, installing, and on
# the stock kernel the boots that the other kernels do not run.
in_full() {
	EPF_THOROUGH=1
	export EPF_THOROUGH
	{
		native | grep -e broken -e /install/ -e /fuzz/
		guests | grep -e boot:tool -e boot:faults
	} | run
}

# Each kernel has its own runner, which prints its own totals.
debug() {
	local log broken=0
	log=$(mktemp) || exit 1
	# shellcheck disable=SC2064 # now
	trap "rm -f '$log'" EXIT
	{
		(in_full) || broken=1
		"$here/kernels.sh" --long rt || broken=1
		"$here/kernels.sh" debug kcsan || broken=1
		[ "$broken" -eq 0 ]
	} 2>&1 | tee "$log"
	[ "${PIPESTATUS[0]}" -eq 0 ] || broken=1
	awk -v broken=$broken '
		/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped\r?$/ {
			passed += $1; failed += $3; skipped += $5
		}
		END {
			if (broken && !failed)
				failed = 1 # a suite ended without its totals
			print "\ntotals:"
			printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
			exit failed || !passed
		}' "$log"
}

case $1 in
only) only "$2"; exit ;;
debug) build user && EPF_THOROUGH=1 build selftests all modules && debug ;;
# install/ boots its own guests.
fast) build user && build selftests all SKIP='fuzz paper explore' FAST=y && fast | run ;;
all)
	build user && build selftests all modules
	{ native; guests; } | run
	;;
kernels)
	build user && build selftests all modules
	export EPF_KERNELS=1
	boots kernels | run
	;;
esac
