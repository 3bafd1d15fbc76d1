#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl audit of files that another program truncates when they have been mapped (torn.c): an
# error in one line, and no output is left.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

"${CC:-cc}" -O2 -std=gnu11 -Wall -Wextra -I"$top/include" -I"$top/include/uapi" \
	mkaudit.c -o "$tmp/mkaudit" -lxxhash ||
	ktap_skip_all 'mkaudit.c needs a compiler and libxxhash-dev'
"${EPF_CC:-${CC:-cc}}" -D_GNU_SOURCE -Wall -Wextra -fPIC -shared torn.c -o "$tmp/torn.so" ||
	ktap_skip_all 'torn.c needs a compiler'
keys=100003
mkdir "$tmp/dir"
"$tmp/mkaudit" "$tmp" $keys || exit 1
columns=(--format column --digests)
ktap_plan 5

# audit SNAPSHOT KEYS
audit() {
	rm -f "$tmp"/dir/*
	${within:-} env LD_PRELOAD="$tmp/torn.so" "$EPFCTL" audit "$1" "$2" "${columns[@]}" --no-agent \
		-b "$tmp/dir/b" -a "$tmp/dir/a" < /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
} 2> /dev/null # the shell reports killed children
# refused SNAPSHOT KEYS BYTES AFTER: $tmp/torn, one of them, is truncated to BYTES
refused() {
	EPF_TORN=$tmp/torn EPF_TORN_BYTES=$3 EPF_TORN_AFTER=$4 audit "$1" "$2"
	[ "$status" = 2 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -qE '^error: .*(torn|truncated)' "$tmp/err" && [ -z "$(ls -A "$tmp/dir")" ]
}
torn_keys() {
	cp "$tmp/digests" "$tmp/torn"
	refused "$tmp/snap" "$tmp/torn" "$1" 0
}
torn_keys_each() {
	local bytes

	for bytes in 0 4096 409600; do
		torn_keys $bytes || return
	done
}
torn_snapshot_each() {
	local bytes

	for bytes in 0 4096 409600; do
		cp "$tmp/snap" "$tmp/torn"
		refused "$tmp/torn" "$tmp/digests" $bytes "$1" || return
	done
}
untouched() {
	audit "$tmp/snap" "$tmp/digests"
	[ "$status" = 0 ] && cmp -s "$tmp/dir/b" "$tmp/bitmap" && cmp -s "$tmp/dir/a" "$tmp/ages"
}
claim 'nothing is truncated: the answers' untouched
claim 'keys, by whole pages' torn_keys_each
claim 'keys, in the last page' torn_keys $((keys * 8 - 8))
claim 'a snapshot before its check' torn_snapshot_each 0
claim 'a snapshot after its check' torn_snapshot_each 1

ktap_finish
