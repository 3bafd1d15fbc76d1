#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Cost of a packet in the programs of `attach --reflexive`, for both backends:
# runs reflex_bench.py, with its arguments, in a VM that counts instructions.

set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${EPF_VM:-}" ] || exec "$top/selftests/vm/run.sh" --icount -- "$0" "$@"
[ -d /sys/module/epochfilter ] || insmod "$top/build/kmod/epochfilter.ko"
for backend in module bpf; do
	echo "$backend"
	EPF_REFLEX_BACKEND=$backend "$top/selftests/bench/reflex_bench.py" "$@"
done
