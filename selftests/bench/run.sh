#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs all benchmarks, one after another; a report. Every ratio is between
# figures of this run. Writes report.txt and report.json to build/bench.
#
# usage: run.sh [core|steps|kinds|audit|snap|xdp|reflex|ebpf|memory|dedup|cluster]...    (all)
# Exit: 0 all ran, 1 some did not.

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
bench=$top/selftests/bench
out=$top/build/bench
export EPF_OUT=$out

[ $# -gt 0 ] || set -- core steps kinds audit snap xdp reflex ebpf memory dedup cluster
for part in "$@"; do
	case $part in
	core | steps | kinds | audit | snap | xdp | reflex | ebpf | memory | dedup | cluster) ;;
	*) echo 'usage: run.sh [core|steps|kinds|audit|snap|xdp|reflex|ebpf|memory|dedup|cluster]...' >&2; exit 2 ;;
	esac
done

mkdir -p "$out" || exit 1
rm -f "$out"/*.txt "$out"/*.json
for part in user kmod selftests/bench; do
	make -C "$top/$part" > "$out/build.log" 2>&1 || {
		cat "$out/build.log" >&2
		exit 1
	}
done

failed=0

# usage: section NAME TITLE COMMAND...
section() {
	local name=$1 title=$2
	shift 2
	printf '\n== %s\n\n' "$title"
	"$@" 2> "$out/error.log" | tee "$out/$name.txt" || {
		cat "$out/error.log" >&2
		echo "bench: $name did not run" >&2
		failed=1
	}
}

run_all() {
	for part in "$@"; do
		case $part in
		core) section core 'Core, natively: ns of an operation' \
			"$top/build/selftests/bench/core_bench" ;;
		steps) section steps 'Core, natively: instructions of an operation' \
			"$top/build/selftests/bench/steps_bench" ;;
		kinds) section kinds 'All kinds side by side, natively' \
			"$top/build/selftests/bench/kinds_bench" ;;
		audit) section audit 'Audits: engines of the CPU side by side' \
			"$top/build/selftests/bench/audit_bench"
			section audit_end 'Audits: epfctl from end to end' \
				"$top/build/selftests/bench/audit_end" \
				"$top/build/user/epfctl" "$out" ;;
		snap) section snap 'A snapshot of 4 GiB under load, in a VM' \
			"$bench/snap.sh" ;;
		xdp) section xdp 'XDP: instructions of a packet, in a VM that counts them' \
			"$bench/xdp_bench.sh" ;;
		reflex) section reflex 'attach --reflexive: instructions of a packet, in a VM' \
			"$bench/reflex_bench.sh" 2000 ;;
		ebpf) section ebpf 'Without the module, natively: ns of a program' \
			"$top/build/selftests/bench/ebpf_bench" -j "$out/ebpf.json" ;;
		memory) section memory 'Memory' "$bench/memory.sh" ;;
		dedup) section dedup 'Duplicate removal on capture files' \
			"$bench/dedup.sh" ;;
		cluster) section cluster 'A live cluster of three hosts on this machine' \
			"$bench/cluster.py" ;;
		esac
	done
	printf '\n== Summary\n\n'
	"$bench/report.py" "$out"
	return $failed
}

run_all "$@" | tee "$out/report.txt"
