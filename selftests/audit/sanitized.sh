#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs the tests of audits with address and undefined-behaviour sanitizers, on fewer keys.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

build=${BUILD:-$here/../../build}/selftests/audit
[ -x "$build/engines_sanitized" ] || ktap_skip_all 'not built'
ktap_plan 8
ktap_check 'engines, sanitized' "$build/engines_sanitized" 1000000
ktap_check 'edges, sanitized' "$build/edges_sanitized" --small
ktap_check 'moving, sanitized' "$build/moving_sanitized"
ktap_check 'estimate, sanitized' "$build/estimate_sanitized" --few
ktap_check 'choose, sanitized' "$build/choose_sanitized"
ktap_check 'merge, sanitized' "$build/merge_sanitized"
ktap_check 'steps, sanitized' "$build/steps_sanitized"
ktap_check 'images, sanitized' "$build/images_sanitized" 5000
ktap_finish
