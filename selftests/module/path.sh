#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The other kinds cost lanes with four lines a key, the default, nothing: in the module's
# own instructions no function that BPF programs call reaches them, but by the three
# that are out of line for other tables.
# shellcheck source=selftests/ktap.sh disable=SC1091
. "$(dirname "$0")/../ktap.sh"

ko=${EPF_KO:-$(dirname "$0")/../../build/kmod/epochfilter.ko}
command -v objdump > /dev/null || ktap_skip_all 'no objdump'
[ -f "$ko" ] || ktap_skip_all "$ko is not built"
tmp=$(mktemp) || exit 1
ktap_cleanup rm -f "$tmp"
objdump -dr --no-show-raw-insn "$ko" | awk '
	/^[0-9a-f]+ <.*>:$/ { fn = substr($2, 2, length($2) - 3) }
	fn ~ /^__pfx_/ { next }
	{ print fn, $0 }' > "$tmp"

# callers PATTERN OWN: functions, those of OWN apart, whose instructions name such
# a symbol
callers() {
	grep -E "$1" "$tmp" | cut -d ' ' -f 1 | sed 's/\..*//' |
		grep -vE "$2" | sort -u | paste -s -d ' '
}

out_of_line='insert_aside test_and_insert_aside test_aside'

ktap_plan 3
got=$(callers '[^_]epf_owned_(test|insert|test_and_insert)([^a-z_]|$)' '^epf_owned')
ktap_check "operations of owned kinds are called by: $got" \
	expr "$got" : "do_[a-z]* $out_of_line\$"
got=$(callers '<(test_and_)?(insert|test)_aside[.>]' '_aside$')
ktap_check "those are called where filters are not plain: $(echo "$got" | wc -w) functions" \
	[ "$(echo "$got" | wc -w)" -ge 5 ]
got=$(grep -cE '^bpf_epf_(test|insert|test_and_insert|xdp_test_and_insert)[a-z_]* .*owned' "$tmp")
ktap_check 'no function for BPF programs names them' [ "$got" = 0 ]
ktap_finish
