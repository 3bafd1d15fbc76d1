#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The firewall demo's column of the module's match for iptables, with few packets.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'
for name in nft iptables dnsmasq ethtool; do
	command -v "$name" > /dev/null || ktap_skip_all "no $name: scripts/deps.sh firewall"
done
for name in selftests/demo/flood user/libxt_epf.so; do
	[ -e "$here/../../build/$name" ] || ktap_skip_all "$name is not built"
done
tmp=$(mktemp -d) || exit 1
unload() {
	rmmod xt_epf
}
ktap_cleanup rm -rf "$tmp"
ktap_cleanup unload

# usage: demo OPTION...; the answer is in $tmp/json, $tmp/said, $status
demo() {
	EPF_OUT=$tmp "$here/firewall_guest.sh" --prepared -j --queries 20 --sources 4096 \
		--planned 4000 --seconds 30 --within 1 --promise ours_match \
		--subjects ours_match "$@" > "$tmp/json" 2> "$tmp/said"
	status=$?
}

# usage: holds NAME EXPRESSION: of d, what the demo says
holds() {
	ktap_check "$1" python3 -c "import json
d = json.load(open('$tmp/json'))['firewalls']['ours_match']; print(d)
assert $2"
}

# usage: dropping; it answers less than all at twice the plan
dropping() {
	demo --unknown drop
	ktap_is 'unless unknown packets are dropped' "$status" 1
}

ktap_plan 4 5
demo
ktap_is "the module's match keeps the promise" "$status" 0
[ "$status" -eq 0 ] || ktap_diag "$(cat "$tmp/said")"
holds 'it lets answers in and nothing else' \
	'(d["replies"], d["unsolicited_passed"], d["open_passed"]) == (20, 0, 4096)'
holds 'at twice its plan it still lets every answer in' 'd["twice"]["replies"] == 8000'
holds 'an entry takes less than ten bytes' '0 < d["entry_bytes"] < 10'
ktap_thorough dropping
ktap_finish
