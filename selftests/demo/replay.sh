# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by both parts of the demo: sends EPF_DEMO_STREAM through a veth pair
#
#   namespace sender                    namespace receiver
#   pcapsend -> demo0 ---- veth ---- demo1 [XDP xdp_dedup] -> pcaprecv
#
# and leaves in EPF_OUT what came out and what epfctl says. Nothing else
# speaks on the pair: no IPv6, no ARP; no offload merges frames.
#
# Environment: EPF_DEMO_STREAM, _WINDOW, _BUDGET, _MTU, _TOOLS (directory).
# Set before run_demo(), or left: prefix (of the namespaces), filter, rate.

epfctl=$PWD/build/user/epfctl
tmp=$(mktemp -d)
prefix='' filter=demo rate=0

say() {
	echo "  $*"
}

in_ns() { # ip netns exec would hide /sys/fs/bpf
	local ns=$prefix$1
	shift
	nsenter --net="/run/netns/$ns" "$@"
}

make_pair() {
	modprobe veth 2> /dev/null || true # it may be built in
	for ns in sender receiver; do
		ip netns add "$prefix$ns"
		# shellcheck disable=SC2016 # for the inner shell
		in_ns "$ns" sh -c 'for c in all default; do
			echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done'
	done
	ip -n "${prefix}sender" link add demo0 type veth peer name demo1 netns "${prefix}receiver"
	for end in 'receiver demo1' 'sender demo0'; do
		# shellcheck disable=SC2086 # two words
		set -- $end
		in_ns "$1" ethtool -K "$2" rx off tx off sg off tso off gso off gro off \
			> /dev/null 2>&1 || true
		ip -n "$prefix$1" link set "$2" mtu "$EPF_DEMO_MTU"
		ip -n "$prefix$1" link set "$2" arp off up
	done
}

# What the usual recency table of the same window takes, as the kernel says.
measure_lru() {
	local pin=/sys/fs/bpf/$filter-lru
	bpftool map create "$pin" type lru_hash key 16 value 8 \
		entries "$EPF_DEMO_WINDOW" name lru
	bpftool -j map show pinned "$pin" > "$EPF_OUT/lru.json"
	rm "$pin"
}

replay() {
	: > "$tmp/recv.log" # there before it is read
	nsenter --net="/run/netns/${prefix}receiver" "$EPF_DEMO_TOOLS/pcaprecv" demo1 \
		"$tmp/received.pcap" > "$tmp/recv.log" &
	local receiver=$!
	until grep -q ready "$tmp/recv.log"; do sleep 0.05; done
	say 'sending'
	in_ns sender "$EPF_DEMO_TOOLS/pcapsend" -r "$rate" demo0 "$tmp/stream.pcap" \
		> "$EPF_OUT/sent.txt"
	sleep 0.5 # softirqs finish what was sent
	kill "$receiver"
	wait "$receiver" || true # frames it lost are missing from the counters' sum
	tail -n 1 "$tmp/recv.log" > "$EPF_OUT/received.txt"
}

turns=() # options of create: who ends the epochs

create() {
	set -- create "$filter" --window "$EPF_DEMO_WINDOW" --budget "$EPF_DEMO_BUDGET" "${turns[@]}"
	say "epfctl $*"
	"$epfctl" "$@"
}

# From a filter to what judge.py reads.
run_demo() {
	cp "$EPF_DEMO_STREAM" "$tmp/stream.pcap"
	make_pair
	create
	"$@"
	# The receiver only listens, so control packets that come twice are dropped, too.
	set -- attach demo1 --filter "$filter" --key packet --action drop --mirror \
		--vlan-offload off
	say "epfctl $*"
	in_ns receiver "$epfctl" "$@" > /dev/null # status prints the same line
	replay
	in_ns receiver "$epfctl" status demo1
	in_ns receiver "$epfctl" -j status demo1 > "$EPF_OUT/status.json"
	"$epfctl" -j show "$filter" > "$EPF_OUT/show.json"
	in_ns receiver "$epfctl" detach demo1
	let_go
	"$epfctl" destroy "$filter"
	measure_lru
	cp "$tmp/received.pcap" "$EPF_OUT/"
}

let_go() { :; }
