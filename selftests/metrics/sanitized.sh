#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The metrics and their endpoint with address and undefined-behaviour
# sanitizers.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

bin=${BUILD:-$here/../../build}/selftests/metrics/sanitized
[ -x "$bin/page" ] || ktap_skip_all 'not built'
ktap_plan 2
ktap_check 'the text, sanitized' env EPF_METRICS_BIN="$bin" "$here/text.py"
if [ -x "$bin/serve_fake" ]; then
	ktap_check 'the endpoint, sanitized' env EPF_METRICS_BIN="$bin" \
		"$here/listen.py"
else
	ktap_skip 'the endpoint, sanitized' 'no libmicrohttpd'
fi
ktap_finish
