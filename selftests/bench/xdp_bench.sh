#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Instructions of a packet: runs xdp_bench in a VM that counts them. Arguments go
# to xdp_bench. Writes xdp.json to EPF_OUT.

set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${EPF_VM:-}" ]; then
	exec "$top/selftests/vm/run.sh" --icount ${EPF_OUT:+--out "$EPF_OUT"} -- "$0" "$@"
fi
[ -d /sys/module/epochfilter ] || insmod "$top/build/kmod/epochfilter.ko"
"$top/build/selftests/bench/xdp_bench" -j "$EPF_OUT/xdp.json" "$@" "$top/build/bpf"
