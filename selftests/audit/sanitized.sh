#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of audits with address and undefined-behaviour sanitizers, of fewer
# keys.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

build=${BUILD:-$here/../../build}/selftests/audit
[ -x "$build/engines_sanitized" ] || ktap_skip_all 'not built'
ktap_plan 3
ktap_check 'engines, sanitized' "$build/engines_sanitized" 1000000
ktap_check 'edges, sanitized' "$build/edges_sanitized" --small
ktap_check 'moving, sanitized' "$build/moving_sanitized"
ktap_finish
