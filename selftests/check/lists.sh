#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The lists that "make check" uses: every guest test is in exactly one boot of the stock
# kernel, every name in the lists exists; and the patterns that T= accepts.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
ktap_plan 7

tests=$here/../tests.sh
"$tests" > "$tmp/all"
awk '$2 == "guest" { print $1 }' "$tmp/all" | sort > "$tmp/guest"
awk '!/^#/ && $2 == "stock" && $4 == "check" { for (i = 5; i <= NF; i++) print $i }' "$here/../boots" |
	sort > "$tmp/stock"
awk '!/^#/ { for (i = 5; i <= NF; i++) print $i }' "$here/../boots" | sort -u > "$tmp/any"

ktap_is 'no test is in two boots of the stock kernel' "$(uniq -d "$tmp/stock")" ''
awk '!/^#/ && $4 == "check" { for (i = 5; i <= NF; i++) print $i }' "$here/../boots" | sort -u > "$tmp/check"
awk '$2 == "native" { print $1 }' "$tmp/all" | sort -u - "$tmp/check" > "$tmp/run"

ktap_is 'what only check-kernels has in a guest make check runs natively' \
	"$(comm -23 "$tmp/any" "$tmp/run")" ''
ktap_is 'boots name tests that are there' "$(comm -23 "$tmp/any" "$tmp/guest")" ''
ktap_is 'paths are there or built' "$(awk '{ print $3 }' "$tmp/all" |
	while read -r path; do
		case $path in */build/*) continue ;; esac
		[ -x "$path" ] || echo "$path"
	done)" ''
ktap_is 'a pattern is found' "$("$tests" 'torture/*' | cut -d ' ' -f 1,2)" 'torture/torture guest'
ktap_is 'an unknown name is refused' "$("$tests" core/kindge 2> "$tmp/near" || echo $?)" 1
near_ones() {
	grep -q 'near: core/kind_ge' "$tmp/near" && [ "$(wc -l < "$tmp/near")" -eq 1 ]
}
ktap_check 'in one line with the near ones' near_ones
ktap_finish
