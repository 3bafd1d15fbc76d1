#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs the property tests of all engines (selftests/audit) for engine cuda, with the
# emulated card.

. "$(dirname "$0")/../cuda/lib.sh"

card_emulated
[ -x "$BUILD/selftests/audit/engines" ] || ktap_skip_all 'selftests/audit is not built'

# usage: laws CLAIMS PROGRAM [ARGUMENT]: that many test points about cuda pass, and none
# is skipped
laws() {
	laws_n=$1 laws_program=$BUILD/selftests/audit/$2
	shift 2
	laws_out=$(timeout 3000 "$laws_program" "$@" | grep -E '^(not )?ok .* - cuda: ')
	echo "$laws_out"
	[ "$(echo "$laws_out" | grep '^ok' | grep -cv SKIP)" -eq "$laws_n" ]
}

ktap_plan 2
ktap_check 'the core'\''s answers, any shape and phase' laws 3 engines 20000
ktap_check 'nothing but what was given is read and written' laws 4 edges --small
ktap_finish
