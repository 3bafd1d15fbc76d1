#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The ledger of claims: each claim names a test, and the program that checks this can
# fail.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: refused ROW: a ledger with this row is refused for that row only
refused() {
	{ cat docs/CLAIMS.md; printf '\n| claim | check | mutant |\n|---|---|---|\n%s\n' "$1"; } \
		> "$tmp/ledger"
	! scripts/claims.py "$tmp/ledger" > "$tmp/says" &&
		[ "$(wc -l < "$tmp/says")" -eq 2 ] && grep -q ', 1 without a test$' "$tmp/says"
}

# usage: limits_refused EDIT TEXT: selftests/limits with this edit is refused, with that text
limits_refused() {
	sed "$1" selftests/limits > "$tmp/limits"
	! EPF_LIMITS="$tmp/limits" scripts/claims.py > "$tmp/says" &&
		[ "$(wc -l < "$tmp/says")" -eq 2 ] && grep -q "$2" "$tmp/says"
}

ktap_plan 8
ktap_check 'every claim names a test' scripts/claims.py
selftests/tests.sh > "$tmp/tests" && export EPF_TESTS="$tmp/tests"
ktap_check 'a test that is gone is noticed' refused '| it works | `core/no_such_test` | |'
ktap_check 'a target that is gone is noticed' refused '| it works | `make no-such` | |'
ktap_check 'a claim without a test is noticed' refused '| it works | by hand | one |'
: > "$tmp/empty"
empty_is_refused() { ! scripts/claims.py "$tmp/empty" > /dev/null; }
ktap_check 'a ledger without claims is refused' empty_is_refused
ktap_check 'a limit without a row is noticed' limits_refused '/^EPF_NS_MAX/d' \
	'^claims: include/epf/window.h: EPF_NS_MAX: no row'
ktap_check 'a row without a limit is noticed' limits_refused '$aNO_MAX - none' 'NO_MAX: there is no such limit'
ktap_check 'a limit whose test is gone is noticed' limits_refused 's|core/params|core/gone|;T;:a;n;ba' \
	'there is no test core/gone'
ktap_finish
