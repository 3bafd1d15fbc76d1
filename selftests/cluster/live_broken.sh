#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of live clusters makes a test with real agents fail (../mutants). law_broken has others,
# which take less time.
[ -n "${EPF_THOROUGH:-}" ] || {
	printf 'TAP version 13\n1..0 # SKIP with EPF_THOROUGH only\n'
	exit 4
}
exec "$(dirname "$0")/../mutants/run" cluster/live_broken
