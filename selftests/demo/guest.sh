#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demo's part inside the VM: sends EPF_DEMO_STREAM through a veth pair
#
#   namespace sender                    namespace receiver
#   pcapsend -> demo0 ---- veth ---- demo1 [XDP xdp_dedup] -> pcaprecv
#
# and leaves in EPF_OUT what came out and what epfctl says. Nothing else
# speaks on the pair: no IPv6, no ARP; no offload merges frames.
#
# Environment: EPF_DEMO_STREAM, _WINDOW, _BUDGET, _MTU, _TOOLS (directory).

set -eu -o pipefail

epfctl=$PWD/build/user/epfctl
tmp=$(mktemp -d)

say() {
	echo "  $*"
}

in_ns() { # ip netns exec would hide /sys/fs/bpf
	local ns=$1
	shift
	nsenter --net="/run/netns/$ns" "$@"
}

make_pair() {
	modprobe veth
	for ns in sender receiver; do
		ip netns add "$ns"
		# shellcheck disable=SC2016 # for the inner shell
		in_ns "$ns" sh -c 'for c in all default; do
			echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done'
	done
	ip -n sender link add demo0 type veth peer name demo1 netns receiver
	for end in 'receiver demo1' 'sender demo0'; do
		# shellcheck disable=SC2086 # two words
		set -- $end
		in_ns "$1" ethtool -K "$2" rx off tx off sg off tso off gso off gro off \
			> /dev/null 2>&1 || true
		ip -n "$1" link set "$2" mtu "$EPF_DEMO_MTU"
		ip -n "$1" link set "$2" arp off up
	done
}

# What the usual recency table of the same window takes, as the kernel says.
measure_lru() {
	bpftool map create /sys/fs/bpf/lru type lru_hash key 16 value 8 \
		entries "$EPF_DEMO_WINDOW" name lru
	bpftool -j map show pinned /sys/fs/bpf/lru > "$EPF_OUT/lru.json"
	rm /sys/fs/bpf/lru
}

replay() {
	nsenter --net=/run/netns/receiver "$EPF_DEMO_TOOLS/pcaprecv" demo1 \
		"$tmp/received.pcap" > "$tmp/recv.log" &
	local receiver=$!
	until grep -q ready "$tmp/recv.log"; do sleep 0.05; done
	say 'sending'
	in_ns sender "$EPF_DEMO_TOOLS/pcapsend" demo0 "$tmp/stream.pcap" \
		> "$EPF_OUT/sent.txt"
	sleep 0.5 # softirqs finish what was sent
	kill "$receiver"
	wait "$receiver" || true # frames it lost are missing from the counters' sum
	tail -n 1 "$tmp/recv.log" > "$EPF_OUT/received.txt"
}

insmod build/kmod/epochfilter.ko
cp "$EPF_DEMO_STREAM" "$tmp/stream.pcap"
make_pair
say "epfctl create demo --window $EPF_DEMO_WINDOW --budget $EPF_DEMO_BUDGET"
"$epfctl" create demo --window "$EPF_DEMO_WINDOW" --budget "$EPF_DEMO_BUDGET"
# The receiver only listens, so control packets that come twice are dropped, too.
set -- attach demo1 --filter demo --key packet --action drop --mirror \
	--vlan-offload off
say "epfctl $*"
in_ns receiver "$epfctl" "$@"
replay
in_ns receiver "$epfctl" status demo1
in_ns receiver "$epfctl" -j status demo1 > "$EPF_OUT/status.json"
"$epfctl" -j show demo > "$EPF_OUT/show.json"
in_ns receiver "$epfctl" detach demo1
"$epfctl" destroy demo
measure_lru
cp "$tmp/received.pcap" "$EPF_OUT/"
