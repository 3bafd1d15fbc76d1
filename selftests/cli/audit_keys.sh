#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl audit of snapshots that record how their keys are made (mkaudit.c).
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

"${CC:-cc}" -O2 -std=gnu11 -Wall -Wextra -I"$top/include" -I"$top/include/uapi" \
	mkaudit.c -o "$tmp/mkaudit" -lxxhash ||
	ktap_skip_all 'mkaudit.c needs a compiler and libxxhash-dev'
few=$tmp/few
mkdir "$few"
"$tmp/mkaudit" "$few" 5003 || exit 1
ktap_plan 28
columns=(--format column --digests)

# Keys as the filter records them are accepted, others are refused; if nothing is recorded
# there is no warning
for kind in '' .frame .digest .mixed; do
	epf -j audit "$few/snap$kind" "$few/keys.pcap"
	claim "packets, of a snapshot with${kind:- unknown} keys" \
		json 'd["present"] == 3336 and d["none_present"] is False'
done
for kind in '' .bytes .digest .mixed; do
	epf -j audit "$few/snap$kind" "$few/column" --key-len 12
	claim "bytes, of a snapshot with${kind:- unknown} keys" \
		json 'd["present"] == 3336'
done
for kind in frame packet flow bytes address digest mixed; do
	epf -j audit "$few/snap.$kind" "$few/digests" "${columns[@]}"
	claim "digests, of a snapshot with .$kind keys" json 'd["present"] == 3336'
done
other_keys() {
	fails "filter's keys are $1, those of the input $2; use --any-keys" \
		audit "${@:3}"
}
other_keys 'packets \(--key packet --no-mac --bytes 64\)' 'packets \(--key frame\)' \
	"$few/snap.packet" "$few/keys.pcap" --key frame
other_keys 'packets \(--key frame\)' 'packets \(--key flow\)' \
	"$few/snap.frame" "$few/keys.pcap" --key flow
other_keys 'text or bytes' 'packets \(--key frame\)' \
	"$few/snap.bytes" "$few/keys.pcap"
other_keys 'packets \(--key frame\)' 'text or bytes' \
	"$few/snap.frame" "$few/keys.csv" -F csv --header --fields 2
other_keys 'packets \(--key flow\)' 'text or bytes' \
	"$few/snap.flow" "$few/column" --key-len 12
other_keys 'IP addresses of 4 or 16 bytes' 'text or bytes' \
	"$few/snap.address" "$few/column" --key-len 12
epf -j audit "$few/snap.address" "$few/digests" --key-len 4
claim 'bytes as long as an address may be one' json 'd["keys"] == 10006'
epf -j audit "$few/snap.frame" "$few/keys.csv" -F csv --header --fields 2 \
	--any-keys
claim '--any-keys asks anyway' json 'd["present"] == 3336'
epf -j audit "$few/snap.packet" "$few/keys.pcap"
claim 'packets without --key are asked for by the key of the filter' \
	json 'd["keys"] == 5003 and d["asked"]["keys"] == {"kind": "packets",
	"key": "packet", "mac": False, "vlan": True, "nonip": "pass", "bytes": 64}'
begin='^warning: ' end=
warned() {
	epf "${@:2}"
	[ "$status" = 0 ] && [ "$(wc -l < "$tmp/err")" = 1 ] && grep -qE \
		"$begin.*: none of the [0-9]+ keys is present; the filter's keys are $1$end\$" \
		"$tmp/err"
}
claim 'no key at all is present: a warning, and exit 0' warned 'text or bytes' \
	audit "$few/snap.bytes" "$few/column" --key-len 4
begin='^\{"warning":"' end='","verb":"audit"\}'
claim 'the same as JSON' warned 'not recorded' \
	-j audit "$few/snap" "$few/column" --key-len 4
claim 'which tells it, too' json 'd["none_present"] and d["present"] == 0 and
	d["asked"]["keys"] == {"kind": "unknown"}'
other_of_test() {
	epf test --snapshot "$few/snap.bytes" abc && [ "$status" = 1 ] && [ ! -s "$tmp/err" ] || return
	epf test --snapshot "$few/snap.frame" abc
	[ "$status" = 1 ] && grep -q 'packets (--key frame), but those looked up are text' "$tmp/err"
}
claim 'test --snapshot warns of text in place of packets' other_of_test

ktap_finish
