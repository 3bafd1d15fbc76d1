#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Duplicate removal on a capture file: epfctl against editcap, and over window
# sizes. Report only: ratios of medians, all from this run.
#
# usage: dedup.sh [RUNS]     (default 3)
# Environment: EPFCTL, the tool; PACKETS, BYTES: of the input.

set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
epfctl=${EPFCTL:-$top/build/user/epfctl}
runs=${1:-3}
packets=${PACKETS:-200000}
bytes=${BYTES:-64}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

[ -f "$epfctl" ] || {
	echo "dedup.sh: $epfctl is not built" >&2
	exit 1
}

# One packet in ten repeats one of the 40,000 before it.
generate() {
	python3 - "$packets" "$bytes" <<'PY'
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

# Seconds of wall clock of one command.
seconds() {
	start=$(date +%s%N)
	"$@" >/dev/null 2>&1 || {
		echo "dedup.sh: failed: $*" >&2
		return 1
	}
	echo "$(($(date +%s%N) - start))" | awk '{ printf "%.4f\n", $1 / 1e9 }'
}

# Median of $runs runs.
median() {
	n=0
	while [ "$n" -lt "$runs" ]; do
		seconds "$@" || return 1
		n=$((n + 1))
	done | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

row() {
	awk -v name="$1" -v window="$2" -v s="$3" -v packets="$packets" 'BEGIN {
		printf "%-8s %9d %10.3f s %12.0f packets/s\n", name, window, s,
			packets / s }'
}

# usage: ratio TEXT MEASURED MEASURED
ratio() {
	paste "$dir/$2" "$dir/$3" | awk -v text="$1" '{
		printf "%-44s %8.1fx\n", text, $1 / $2 }'
}

generate >"$dir/in.pcap" || exit 1
echo "$packets packets of $bytes bytes, median of $runs runs"
for n in 1000 50000 1000000; do
	t=$(median "$epfctl" dedup -D "$n" "$dir/in.pcap" "$dir/out.pcap")
	row epfctl "$n" "$t"
	echo "$t" >"$dir/ours.$n"
done
copy=$(median cp "$dir/in.pcap" "$dir/out.pcap")
row cp 0 "$copy"
if command -v editcap >/dev/null; then
	for n in 1000 50000; do
		t=$(median editcap -F pcap -D "$n" "$dir/in.pcap" \
			"$dir/out.pcap")
		row editcap "$n" "$t"
		echo "$t" >"$dir/theirs.$n"
	done
	ratio "faster than editcap at 1000" theirs.1000 ours.1000
	ratio "faster than editcap at 50000 (reach: 100x)" theirs.50000 \
		ours.50000
else
	echo "editcap is not installed (wireshark-common): no comparison"
fi
ratio "1000000 to 1000, time (reach: at most 2x)" ours.1000000 ours.1000
ratio "1000000 to 50000, time (reach: at most 2x)" ours.1000000 ours.50000
