#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A snapshot of a 4 GiB filter under load, in a VM with a thread for each CPU,
# because copy and insertions must run in parallel. Arguments go to snap_bench.

set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${EPF_VM:-}" ]; then
	exec "$top/selftests/vm/run.sh" --mem "${EPF_BENCH_MEM:-10G}" \
		--parallel --timeout 1800 ${EPF_OUT:+--out "$EPF_OUT"} -- "$0" "$@"
fi
[ -d /sys/module/epochfilter ] ||
	insmod "${EPF_KO:-$top/build/kmod/epochfilter.ko}" max_filter_mib=8192
"${EPF_SNAP_BENCH:-$top/build/selftests/bench/snap_bench}" "$@"
