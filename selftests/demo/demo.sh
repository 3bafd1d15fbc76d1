#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One command from sources to a real capture whose repeats are dropped in the
# kernel: builds everything, boots a stock kernel in a VM and replays the
# capture there through a veth pair, every packet twice. Guarantee: exit
# status 0 means that no repeat inside the window passed, that no other packet
# was dropped beyond what the error budget explains, and that every packet is
# accounted for; see judge.py.
#
# Exit: 0 as promised, 1 not, 2 it could not run.

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
demo=$top/selftests/demo
work=$top/build/demo

usage() {
	cat <<'USAGE'
usage: selftests/demo/demo.sh [OPTION]...

  --pcap FILE    Ethernet capture to replay (real.pcap of Debian's package
                 pathspider)
  --packets N    take so many of its packets (150000; 0: all)
  --window N     packets that the filter remembers (50000)
  --budget RATE  chance to drop a packet that is no repeat (1e-6)
  --seed N       of the random distances (1)
USAGE
}

die() {
	echo "demo: $*" >&2
	exit 2
}

pcap='' packets=150000 window=50000 budget=1e-6 seed=1
while [ $# -gt 0 ]; do
	case $1 in
	--pcap | --packets | --window | --budget | --seed)
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

mkdir -p "$work/out" "$work/cost" || exit 2
rm -f "$work"/{out,cost}/*

step 'looking for what is needed'
"$top/scripts/deps.sh" --install build vm || exit 2
if [ -z "$pcap" ]; then
	pcap=$top/build/data/real.pcap
	[ -s "$pcap" ] || "$top/scripts/deps.sh" --install test || exit 2
fi
[ -r "$pcap" ] || die "cannot read $pcap"

step 'building tool, module, programs and tools'
for part in user kmod selftests/xdp selftests/bench; do
	quietly make -C "$top/$part"
done
epfctl=$top/build/user/epfctl

"$epfctl" -j plan --window "$window" --budget "$budget" > "$work/plan.json" || exit 2

step "doubling the packets of ${pcap##*/}"
# Whatever libpcap reads becomes plain pcap; nothing is removed.
"$epfctl" dedup --action count -D 1 "$pcap" "$work/in.pcap" 2> "$work/log" || {
	cat "$work/log" >&2
	exit 2
}
"$demo/stream.py" "$work/in.pcap" "$work/stream.pcap" "$window" "$packets" "$seed" \
	> "$work/made.json" || exit 2

step "counting instructions in a VM of its own, meanwhile:"
(
	cd "$top" && exec selftests/vm/run.sh --icount --out "$work/cost" -- \
		selftests/bench/xdp_bench.sh -n "$window" -b "$budget" -k packet
) > "$work/cost.log" 2>&1 &
cost=$!
trap 'kill $cost 2>/dev/null' EXIT

step 'booting a VM; in it:'
export EPF_DEMO_STREAM=$work/stream.pcap EPF_DEMO_WINDOW=$window EPF_DEMO_BUDGET=$budget
export EPF_DEMO_TOOLS=$top/build/selftests/xdp
EPF_DEMO_MTU=$(sed -n 's/.*"mtu": \([0-9]*\).*/\1/p' "$work/made.json")
export EPF_DEMO_MTU
(cd "$top" && selftests/vm/run.sh --out "$work/out" -- selftests/demo/guest.sh) ||
	die 'the run in the VM failed'

step 'waiting for the instruction counts'
wait "$cost" || {
	cat "$work/cost.log" >&2
	die 'counting instructions failed'
}
trap - EXIT

step 'comparing packet by packet with the oracle'
"$demo/judge.py" "$work/made.json" "$work/stream.pcap" "$work/out" \
	"$work/plan.json" "$work/cost/xdp.json"
status=$?
step 'done'
exit $status
