#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Duplicate removal on a capture file: epfctl by both methods against editcap,
# for several window sizes, all in turns. Times are CPU times, user and system, of one thread,
# which say more than a clock on a busy machine. A report: ratios of medians, all
# from this run. editcap compares each packet with its whole window; if that takes
# long, it gets only the first packets of the capture. Its row says how many, and
# ratios are of packets per second. While its window fills, a packet costs less,
# which is in its favour.
#
# usage: dedup.sh [RUNS]     (default 5)
# Environment: EPFCTL, the tool; PACKETS, BYTES: size of the input; COMPARED: the
# most comparisons of editcap in a run, packets times window.

set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
epfctl=${EPFCTL:-$top/build/user/epfctl}
runs=${1:-5}
packets=${PACKETS:-200000}
bytes=${BYTES:-64}
compared=${COMPARED:-3000000000} # some 5 s
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

[ -f "$epfctl" ] || {
	echo "dedup.sh: $epfctl is not built" >&2
	exit 1
}

# usage: generate PACKETS: one in ten repeats one of the 40,000 before it
generate() {
	python3 - "$1" "$bytes" <<'PY'
import random, struct, sys
count, size = map(int, sys.argv[1:])
rng = random.Random(1)
out = sys.stdout.buffer
out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
past = []
for i in range(count):
    if past and rng.random() < .1:
        data = past[-rng.randint(1, min(40000, len(past)))]
    else:
        data = rng.randbytes(size)
    past.append(data)
    out.write(struct.pack("<IIII", i // 1000000, i % 1000000, size, size))
    out.write(data)
PY
}

# CPU seconds of one command. What started Python may have had children, too.
seconds() {
	python3 -c 'import resource, subprocess, sys
def used():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime
before = used()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
print(f"{used() - before:.4f}")
sys.exit(code)' "$@" || {
		echo "dedup.sh: failed: $*" >&2
		return 1
	}
}

# usage: median FILE
median() {
	sort -n "$dir/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# usage: ours METHOD WINDOW FILE: one run, whose time is added to the file METHOD.WINDOW.times
ours() {
	seconds "$epfctl" dedup "--$1" -D "$2" "$3" "$dir/out.pcap" >>"$dir/$1.$2.times"
}

# usage: row NAME WINDOW SECONDS [PACKETS]
row() {
	awk -v name="$1" -v window="$2" -v s="$3" -v packets="${4:-$packets}" \
		-v part="${4:+, of $4 packets}" 'BEGIN {
		printf "%-8s %9d %10.3f s %12.0f packets/s%s\n", name, window, s,
			packets / s, part }'
}

# usage: ratio TEXT MEASURED MEASURED
ratio() {
	paste "$dir/$2" "$dir/$3" | awk -v text="$1" '{
		printf "%-44s %8.1fx\n", text, $1 / $2 }'
}

# usage: part_of WINDOW: the packets that editcap gets
part_of() {
	part=$((compared / $1))
	[ "$part" -lt "$packets" ] || part=$packets
	echo "$part"
}

# usage: first PACKETS: these of the capture, whose packets have one length
first() {
	head -c $((24 + $1 * (16 + bytes))) "$dir/in.pcap"
}

# usage: theirs WINDOW: one run
theirs() {
	[ -e "$dir/part.$1" ] || first "$(part_of "$1")" >"$dir/part.$1" || return 1
	seconds editcap -F pcap -D "$1" "$dir/part.$1" "$dir/out.pcap" >>"$dir/editcap.$1.times"
}

# usage: measure WINDOW: all programs in turns, so that other work of this machine meets all of them
measure() {
	n=0
	while [ "$n" -lt "$runs" ]; do
		for method in exact filter; do
			ours "$method" "$1" "$dir/in.pcap" || return 1
		done
		seconds cp "$dir/in.pcap" "$dir/out.pcap" >>"$dir/cp.0.times"
		[ -z "$editcap" ] || [ "$1" = "$longest" ] || theirs "$1" || return 1
		n=$((n + 1))
	done
}

# usage: report PROGRAM WINDOW [PACKETS]
report() {
	t=$(median "$1.$2.times")
	row "$1" "$2" "$t" "${3:-}"
	awk -v t="$t" -v part="${3:-$packets}" -v all="$packets" 'BEGIN { print t / part * all }' >"$dir/$1.$2"
}

generate "$packets" >"$dir/in.pcap" || exit 1
echo "$packets packets of $bytes bytes, median of $runs runs"
windows='5 100 1000 10000 50000 1000000'
longest=${windows##* }
editcap=$(command -v editcap)
for window in $windows; do
	measure "$window" || exit 1
	report exact "$window"
	report filter "$window"
	[ ! -e "$dir/editcap.$window.times" ] || report editcap "$window" "$(part_of "$window")"
done
report cp 0
if [ -n "$editcap" ]; then
	for window in ${windows% *}; do
		for method in exact filter; do
			ratio "$method: faster than editcap at $window" "editcap.$window" "$method.$window"
		done
	done
else
	echo "editcap is not installed (wireshark-common): no comparison"
fi
for method in exact filter; do
	ratio "$method: $longest to 1000, time" "$method.$longest" "$method.1000"
done
