#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory for a window of flows, as the kernel charges it: filters with 1, 2 and
# 4 lines per key, the default filter, and BPF's LRU hash map with the same number
# of entries (16-byte key, 8-byte value). Writes memory.json to EPF_OUT.
#
# usage: memory.sh [FLOWS [BUDGET]]    (1000000, 1e-4)

set -eu -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${EPF_VM:-}" ]; then
	exec "$top/selftests/vm/run.sh" ${EPF_OUT:+--out "$EPF_OUT"} -- "$0" "$@"
fi
flows=${1:-1000000} budget=${2:-1e-4}
epfctl=$top/build/user/epfctl

# usage: field NAME: the number of that name in one line of JSON
field() {
	sed 's/.*"'"$1"'": *\([0-9.e+-]*\).*/\1/'
}

filter_bytes() { # epfctl's sizing options
	"$epfctl" create memory --window "$flows" --budget "$budget" "$@" > /dev/null
	"$epfctl" -j show memory | field memory_bytes
	"$epfctl" destroy memory
}

lru_bytes() {
	bpftool map create /sys/fs/bpf/memory type lru_hash key 16 value 8 \
		entries "$flows" name memory
	bpftool -j map show pinned /sys/fs/bpf/memory | field bytes_memlock
	rm /sys/fs/bpf/memory
}

[ -d /sys/module/epochfilter ] || insmod "$top/build/kmod/epochfilter.ko"
lru=$(lru_bytes)
printf '{"flows": %s, "budget": %s, "lru": %s' "$flows" "$budget" "$lru" > "$EPF_OUT/memory.json"
printf '%s flows at %s\n' "$flows" "$budget"

row() { # NAME JSON_NAME BYTES
	awk -v name="$1" -v bytes="$3" -v flows="$flows" -v lru="$lru" 'BEGIN {
		printf "  %-26s %8.2f MiB %8.1f bits a flow %7.1fx less than LRU\n",
			name, bytes / 2^20, bytes * 8 / flows, lru / bytes }'
	printf ', "%s": %s' "$2" "$3" >> "$EPF_OUT/memory.json"
}

awk -v bytes="$lru" -v flows="$flows" 'BEGIN {
	printf "  %-26s %8.2f MiB %8.1f bits a flow\n", "LRU hash map",
		bytes / 2^20, bytes * 8 / flows }'
row 'filter, as planned' planned "$(filter_bytes)"
for lines in 1 2 4; do
	row "filter, $lines line(s) a key" "lines_$lines" "$(filter_bytes --lines-per-key $lines)"
done
printf '}\n' >> "$EPF_OUT/memory.json"
