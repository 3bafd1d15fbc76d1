#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One command from sources to a real capture whose repeats are dropped in the
# kernel: builds what it needs and replays the capture through a veth pair, every
# packet twice. First on this machine's own kernel, by a filter that is pure BPF;
# then by the module, on a stock kernel in a VM. Guarantee: exit
# status 0 means that no repeat inside the window passed, that no other packet
# was dropped beyond what the error budget explains, and that every packet is
# accounted for; see judge.py.
#
# A part that cannot run says so in one line, and the other one decides.
#
# Exit: 0 as promised, 1 not, 2 no part could run.

# shellcheck disable=SC2317 # functions that are called by name

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
demo=$top/selftests/demo
work=$top/build/demo

usage() {
	cat <<'USAGE'
usage: selftests/demo/demo.sh [OPTION]...

  --backend B    bpf or module; default: both, one after the other
  --pcap FILE    Ethernet capture to replay (real.pcap of Debian's package
                 pathspider)
  --packets N    take so many of its packets (150000; 0: all)
  --window N     packets that the filter remembers (50000)
  --budget RATE  chance to drop a packet that is no repeat (1e-6)
  --seed N       of the random distances (1)
USAGE
}

die() {
	echo "demo: $part$*" >&2
	exit 2
}

part='' backend='' pcap='' packets=150000 window=50000 budget=1e-6 seed=1
while [ $# -gt 0 ]; do
	case $1 in
	--backend | --pcap | --packets | --window | --budget | --seed)
		[ $# -ge 2 ] || die "$1 needs a value"
		declare "${1#--}=$2"
		shift 2
		;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
for number in "$packets" "$window" "$seed"; do
	case $number in
	'' | *[!0-9]*) die "'$number' is not a number" ;;
	esac
done
[ "$window" -ge 10000 ] || die '--window: at least 10000'
case $backend in
'' | bpf | module) ;;
*) die "--backend '$backend' is neither bpf nor module" ;;
esac

started=$SECONDS
step() {
	printf '[%3d s] %s\n' $((SECONDS - started)) "$*"
}

# Runs a command quietly; shows what it said when it fails.
quietly() {
	"$@" > "$work/log" 2>&1 && return
	cat "$work/log" >&2
	die "failed: $*"
}

# What both parts need: tool and traffic.
prepare() {
	local least=(demo) all

	step 'looking for what is needed'
	[ -n "$pcap" ] || least+=(captures)
	all=("${least[@]}")
	[ "$backend" = bpf ] || all+=(build vm)
	# The first part does without what only the second lacks.
	"$top/scripts/deps.sh" --install "${all[@]}" || "$top/scripts/deps.sh" --check "${least[@]}" > /dev/null 2>&1 || exit 2
	pcap=${pcap:-$top/build/data/real.pcap}
	[ -r "$pcap" ] || die "cannot read $pcap"
	step 'building tool, programs and tools'
	quietly make -j "$(nproc)" -C "$top/user" "$epfctl"
	quietly make -C "$top/selftests/xdp" "$EPF_DEMO_TOOLS/pcapsend" "$EPF_DEMO_TOOLS/pcaprecv"
	"$epfctl" -j plan --window "$window" --budget "$budget" > "$work/plan.json" || exit 2
	step "doubling the packets of ${pcap##*/}"
	# Whatever libpcap reads becomes plain pcap; nothing is removed.
	"$epfctl" dedup --action count -D 1 "$pcap" "$work/in.pcap" 2> "$work/log" || {
		cat "$work/log" >&2
		exit 2
	}
	"$demo/stream.py" "$work/in.pcap" "$work/stream.pcap" "$window" "$packets" "$seed" \
		> "$work/made.json" || exit 2
	EPF_DEMO_MTU=$(sed -n 's/.*"mtu": \([0-9]*\).*/\1/p' "$work/made.json")
	export EPF_DEMO_MTU
}

# usage: judge OUT_DIRECTORY COST_JSON
judge() {
	step 'comparing packet by packet with the oracle'
	"$demo/judge.py" "$work/made.json" "$work/stream.pcap" "$1" "$work/plan.json" "$2"
}

bpf_part() {
	part='this kernel: '
	mkdir -p "$work/bpf" && rm -f "$work"/bpf/*
	[ "$(id -u)" -eq 0 ] || die 'loading BPF programs needs root'
	quietly make -C "$demo"
	step 'on this kernel, without the module:'
	EPF_OUT=$work/bpf "$demo/native.sh" || exit 2
	judge "$work/bpf" "$work/bpf/cost.json"
}

module_part() {
	part='the module in a VM: '
	mkdir -p "$work/out" "$work/cost" && rm -f "$work"/{out,cost}/*
	"$top/scripts/deps.sh" --check build vm > /dev/null 2>&1 || die 'no VM without these packages'
	step 'building module and programs'
	quietly make -j "$(nproc)" -C "$top/kmod"
	quietly make -C "$top/selftests/bench"
	step 'counting instructions in a VM of its own, meanwhile:'
	(
		cd "$top" && exec selftests/vm/run.sh --icount --out "$work/cost" -- \
			selftests/bench/xdp_bench.sh -n "$window" -b "$budget" -k packet
	) > "$work/cost.log" 2>&1 &
	cost=$!
	trap 'kill $cost 2>/dev/null' EXIT
	step 'booting a VM; in it:'
	(cd "$top" && selftests/vm/run.sh --out "$work/out" -- selftests/demo/guest.sh) ||
		die 'the run failed'
	step 'waiting for the instruction counts'
	wait "$cost" || {
		cat "$work/cost.log" >&2
		die 'counting instructions failed'
	}
	trap - EXIT
	judge "$work/out" "$work/cost/xdp.json"
}

epfctl=$top/build/user/epfctl
export EPF_DEMO_STREAM=$work/stream.pcap EPF_DEMO_WINDOW=$window EPF_DEMO_BUDGET=$budget
export EPF_DEMO_TOOLS=$top/build/selftests/xdp
mkdir -p "$work" || exit 2
prepare

status=2
for part in ${backend:-bpf module}; do
	("${part}_part")
	case $? in
	0) [ $status -ne 2 ] || status=0 ;;
	1) status=1 ;;
	esac
done
step 'done'
exit $status
