#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: check.sh fast|all|debug
#
# Builds everything, then runs the suites, quick ones first; all: also those
# that need the module, in a virtual machine; debug: those alone, on kernels
# that look for errors of their own. Ends with one line of totals; exit status
# 0 means that nothing failed and something passed.

set -u
cd "$(dirname "$0")/.." || exit 1

case ${1:-} in
fast | all | debug) ;;
*) echo "usage: check.sh fast|all|debug" >&2; exit 2 ;;
esac

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
broken=0

# usage: suite COMMAND...: its closing line is kept for the totals
suite() {
	"$@" 2>&1 | tee -a "$log"
	[ "${PIPESTATUS[0]}" -eq 0 ] || broken=1
}

make -C user && make -C selftests all || exit 1
[ "$1" = debug ] || suite make -s -C selftests run_fast
case $1 in
all)
	make -C kmod && make -C selftests/torture || exit 1
	suite selftests/module/run.sh
	suite make -s -C selftests run_module
	suite selftests/kernels.sh newest
	;;
debug) suite selftests/kernels.sh rt debug kcsan ;;
esac

awk -v broken=$broken '
	/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped\r?$/ {
		passed += $1; failed += $3; skipped += $5
	}
	END {
		if (broken && !failed)
			failed = 1 # a suite that ended without saying so
		print "\ntotals:"
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed || !passed
	}' "$log"
