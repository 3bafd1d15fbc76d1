#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The firewall demo with few packets: that it counts exactly, notices a firewall that
# breaks the promise, and leaves nothing. It says nothing of time.
# shellcheck disable=SC2317 # functions that ktap_check calls

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
for name in nft iptables ipset dnsmasq ethtool; do
	command -v "$name" > /dev/null || ktap_skip_all "no $name: scripts/deps.sh firewall"
done
[ -x "$here/../../build/selftests/demo/flood" ] ||
	ktap_skip_all 'not built: needs clang and libbpf-dev'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# Why a filter that a timer of the kernel rotates cannot be made here, or nothing.
lacking() {
	local epfctl=$here/../../build/user/epfctl name=demofw-$$ said
	if said=$("$epfctl" --backend bpf create "$name" -T 1s --rate 1000 --rotate kernel 2>&1); then
		"$epfctl" --backend bpf destroy "$name" > /dev/null
	else
		tail -n 1 <<< "$said"
	fi
}
bare=$(lacking)

# usage: demo PROMISE SUBJECT...; the answer is in $tmp/json, $tmp/said, $status
demo() {
	"$here/firewall.sh" --prepared -j --queries 20 --sources 4096 --planned 4000 \
		--seconds 30 --within 1 --unknown $unknown --promise "$1" --subjects "${*:2}" > "$tmp/json" 2> "$tmp/said"
	status=$?
	return 0
}

# usage: holds NAME EXPRESSION: of d, what the demo says of all its firewalls
holds() {
	ktap_check "$1" python3 -c "import json; d = json.load(open('$tmp/json'))['firewalls']; print(d)
assert $2"
}

# What is left of the process that this shell started, @1: it is part of all names.
nothing_left() {
	! ip netns list | grep "demofw-$1-" && [ ! -e "/sys/fs/bpf/epochfilter/demofw-$1" ] &&
		! compgen -G "/sys/fs/bpf/demofw-$1-*" &&
		! pgrep -P "$1"
}

cannot() { # usage: cannot NAME: why it is not there, or nothing
	python3 -c "import json, sys
print(json.load(open(sys.argv[1]))['firewalls']['$1'].get('absent', ''))" "$tmp/json"
}

keeps() { # usage: keeps WHAT SUBJECT
	demo "$2" "$2"
	if [ -n "$(cannot "$2")" ]; then
		ktap_skip "$1" "$(cannot "$2")"
	else
		ktap_is "$1" "$status" 0
	fi
}

# What is sent for longer than it is remembered need not be known any more.
slow_is_not_failed() {
	"$here/firewall.sh" --prepared -j --queries 20 --sources 4096 --planned 4000 --seconds 1 \
		--within 3 --subjects ours > "$tmp/json" 2> "$tmp/said"
	[ $? -eq 2 ] && grep -q '^demo-firewall: ours: not measured: .* 1 s' "$tmp/said" &&
		! grep FAILED "$tmp/said"
}

interrupted() {
	"$here/firewall.sh" --prepared --subjects none --promise none > /dev/null 2>&1 &
	local pid=$!
	until ip netns pids "demofw-$pid-resolver" 2> /dev/null | grep -q .; do
		kill -0 "$pid" 2> /dev/null || return
		sleep .02
	done
	kill "$pid"
	wait "$pid"
	[ $? -eq 2 ] && nothing_left "$pid"
}

# usage: parts SUBJECT; no VM boots this kernel. Its status is that of the demo.
parts() {
	EPF_KERNEL=/nonexistent "$here/firewall_demo.sh" --prepared -j --queries 20 \
		--sources 4096 --planned 4000 --seconds 0 --promise "$1" --subjects "$1" \
		> "$tmp/json" 2> "$tmp/said"
}

# usage: without_vm SUBJECT STATUS: one line names the part that did not run
without_vm() {
	parts "$1"
	[ $? -eq "$2" ] && [ "$(grep -c "the module's match in a VM: " "$tmp/said")" -eq 1 ] &&
		return
	cat "$tmp/said"
	return 1
}

no_part() {
	EPF_KERNEL=/nonexistent "$here/firewall_demo.sh" --prepared --sources 3 > /dev/null 2>&1
	[ $? -eq 2 ]
}

"$here/firewall.sh" --prepared --queries 1 --sources 1 --seconds 0 --promise none \
	--subjects none > "$tmp/said" 2>&1
grep -q 'namespaces cannot be made' "$tmp/said" && ktap_skip_all "$(tail -n 1 "$tmp/said")"
ktap_plan 23
unknown=accept

demo none none stateless conntrack_notrack conntrack_drop nft
ktap_is 'a flood that passes breaks the promise' "$status" 1
holds 'without a firewall every answer and every packet arrives' \
	'(d["none"]["replies"], d["none"]["open_passed"], d["none"]["unsolicited_passed"]) == (20, 4096, 4096)'
holds 'a rule without state drops all of port 53' \
	'(d["stateless"]["replies"], d["stateless"]["unsolicited_passed"]) == (0, 0)'
no_nft=$(cannot nft)
if [ -n "$no_nft" ]; then
	ktap_skip 'a set that output fills lets answers in and nothing else' "$no_nft"
	ktap_skip 'at twice its plan it lets in what it was planned for' "$no_nft"
else
	holds 'a set that output fills lets answers in and nothing else' \
		'(d["nft"]["replies"], d["nft"]["unsolicited_passed"]) == (20, 0)'
	holds 'at twice its plan it lets in what it was planned for' \
		'(d["nft"]["twice"]["replies"], d["nft"]["twice"]["unsolicited_passed"]) == (4000, 0)'
fi
if [ -n "$(cannot conntrack_drop)" ]; then
	ktap_skip 'conntrack likewise' "$(cannot conntrack_drop)"
else
	holds 'conntrack likewise' \
		'(d["conntrack_drop"]["replies"], d["conntrack_drop"]["unsolicited_passed"]) == (20, 0)'
fi
if [ -n "$(cannot conntrack_notrack)" ]; then
	ktap_skip 'and where it does not track the open port' "$(cannot conntrack_notrack)"
else
	holds 'and where it does not track the open port' \
		'(d["conntrack_notrack"]["replies"], d["conntrack_notrack"]["open_passed"], d["conntrack_notrack"]["unsolicited_passed"]) == (20, 4096, 0)'
fi
if [ -n "$bare" ]; then
	for name in 'ours keeps its promise' 'it lets answers in and nothing else' \
		'at twice its plan it still lets every answer in' \
		'unless unknown packets are dropped' 'which is said' \
		'a slow machine has not measured it' 'asked at tc it keeps its promise' 'and where nftables decides by marks' \
		'at netfilter hooks' 'and in rules of iptables'; do
		ktap_skip "$name" "$bare"
	done
else
	demo ours ours
	ktap_is 'ours keeps its promise' "$status" 0
	holds 'it lets answers in and nothing else' \
		'(d["ours"]["replies"], d["ours"]["unsolicited_passed"], d["ours"]["open_passed"]) == (20, 0, 4096)'
	holds 'at twice its plan it still lets every answer in' 'd["ours"]["twice"]["replies"] == 8000'
	unknown=drop
	demo ours ours
	unknown=accept
	ktap_is 'unless unknown packets are dropped' "$status" 1
	ktap_check 'which is said' grep -q '^FAILED: ours: at twice the plan' "$tmp/said"
	ktap_check 'a slow machine has not measured it' slow_is_not_failed
	keeps 'asked at tc it keeps its promise' ours_tc
	keeps 'and where nftables decides by marks' ours_mark
	keeps 'at netfilter hooks' ours_hook
	keeps 'and in rules of iptables' ours_iptables
fi
demo stateless stateless
ktap_is 'answers that are lost break the promise' "$status" 1
ktap_check 'which is said in one line' grep -q '^FAILED: stateless: 0 of 20 answers' "$tmp/said"
ktap_check 'interrupted, it leaves nothing' interrupted
if [ -n "$no_nft" ]; then
	ktap_skip 'without a VM the part on this kernel decides: as promised' "$no_nft"
else
	ktap_check 'without a VM the part on this kernel decides: as promised' without_vm nft 0
fi
ktap_check 'or not as promised' without_vm none 1
ktap_check 'if no part can run, neither decides' no_part
ktap_finish
