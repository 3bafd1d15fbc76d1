#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Builds and runs the benchmark of this machine's card and writes report.txt,
# bench.json, records.jsonl and plots to EPF_OUT (build/bench/gpu).
#
# usage: gpu.sh [--emulated] [PART]...
#
#   --emulated   run without a card, at tiny sizes, to test the script; times mean
#                nothing
#   CUCO=DIR     environment: NVIDIA's cuCollections, whose Bloom filter is a rival then
#   PART         gathers, queries, paper, rivals, whole, link (all)
#
# Exit: 0; 1: an error, or a property does not hold; 4: no card, or no nvcc.

set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
seconds=420 # limit for the run, without the build
build=${BUILD:-$top/build}
out=$build/bench/gpu

cannot() {
	echo "bench-gpu: $*" >&2
	exit 4
}

# Check for a driver before anything is built.
card_there() {
	[ -e /dev/nvidiactl ] || [ -e /dev/nvidia0 ] || [ -e /dev/dxg ] ||
		nvidia-smi -L > /dev/null 2>&1
}

program=epf_bench_gpu what=card
if [ "${1:-}" = --emulated ]; then
	program=epf_bench_gpu_emulated what=emulated out=$out/smoke
else
	PATH=$PATH:/usr/local/cuda/bin
	card_there || cannot 'no card: there is no driver of one here'
	command -v "${NVCC:-nvcc}" > /dev/null || cannot 'no nvcc: it comes with the CUDA toolkit'
fi
for part in "$@"; do
	case $part in
	--emulated | gathers | queries | paper | rivals | whole | link) ;;
	*) sed -n '7,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done

# usage: smi FIELD
smi() {
	nvidia-smi --query-gpu="$1" --format=csv,noheader 2> /dev/null | head -n 1
}

out=${EPF_OUT:-$out}
mkdir -p "$out" || exit 1
rm -f "$out"/{records.jsonl,report.txt,bench.json,*.csv,*.svg,*.png}
make -C "$here" -j "${JOBS:-$(nproc)}" BUILD="$build" "$what" > "$out/build.log" 2>&1 || {
	cat "$out/build.log" >&2
	exit 1
}
start=$(date +%s)
timeout -k 10 "$seconds" "$build/bench/gpu/$program" "$@" > "$out/records.jsonl"
status=$?
case $status in
0 | 1) ;;
4) exit 4 ;;
124 | 137) echo "bench-gpu: stopped after $seconds seconds" >&2; status=1 ;;
*) echo "bench-gpu: ended with $status" >&2; status=1 ;;
esac
told=(date="$(date -u +%Y-%m-%dT%H:%MZ)" seconds="$(($(date +%s) - start))"
	version="$(cat "$top/VERSION")")
if [ "$what" = card ]; then
	told+=(driver="$(smi driver_version)" memory_clock="$(smi clocks.max.mem)"
		nvcc="$("${NVCC:-nvcc}" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')")
fi
python3 "$here/report.py" "$out/records.jsonl" "$out" "${told[@]}" | tee "$out/report.txt" ||
	status=1
if ! command -v gnuplot > /dev/null; then
	echo "no plots: gnuplot is missing; cuda/bench/plot.gp makes them of $out/*.csv"
elif ! (cd "$here" && gnuplot -e "dir='$out'" plot.gp); then
	echo 'bench-gpu: gnuplot failed' >&2
	status=1
fi
exit "$status"
