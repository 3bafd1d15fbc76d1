#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The kernels and their emulation with address and undefined-behaviour sanitizers.

. "$(dirname "$0")/lib.sh"

build=$BUILD/selftests/cuda/sanitized
[ -x "$build/query" ] || ktap_skip_all 'not built'

# The output is only the test points, because the sanitizers know about the fibers.
quiet() {
	"$@" 2>&1 | tee /dev/stderr | awk '!/^(ok|TAP|1\.\.)/ { bad = 1 } END { exit bad }'
}

ktap_plan 3
ktap_check 'emulation, sanitized' quiet "$build/emulation"
ktap_check 'questions, sanitized' quiet "$build/query"
ktap_check 'lines, sanitized' quiet "$build/lines"
ktap_finish
