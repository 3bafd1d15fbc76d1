#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs the tests of records with address and undefined-behaviour sanitizers. GLib never
# frees some allocations, so leaks are checked without IPFIX.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

READREC=${BUILD:-$here/../../build}/selftests/records/readrec_sanitized
export READREC
[ -x "$READREC" ] || ktap_skip_all 'not built'
ktap_plan 4
ktap_check 'text, sanitized' "$here/text.py"
ktap_check 'flows, sanitized' "$here/flows.py"
ktap_check 'files of nfcapd, sanitized' "$here/nfcapd.py"
ktap_check 'compressed input, sanitized' "$here/packed.py"
ktap_finish
