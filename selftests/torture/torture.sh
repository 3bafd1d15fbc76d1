#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: torture.sh [STEPS]
#
# Runs the stress test of the module (kmod/selftest/torture.c) for STEPS steps on each
# CPU. Without an argument it then shows that the test fails if a protection is
# disabled. In a VM only. EPF_TORTURE_DIR is the directory of the two modules.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
built=${EPF_TORTURE_DIR:-${here%/*/*}/build/selftests/torture}
params=/sys/module/epochfilter/parameters
only=${1:-${EPF_TORTURE_STEPS:-}}
steps=${only:-30000}
broken_steps=2500
tries=400

# Bits of "broken", as in broken/epf/estimate.h.
stall=1 no_cas=2 no_or=4 no_grace=16 sees_self=32 ahead=128 expired=256 line=16384

[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'
[ -e "$built/plain/epochfilter.ko" ] || ktap_skip_all 'the module is not built: make -C selftests/torture'
if [ -n "$only" ]; then ktap_plan 5; else ktap_plan 14; fi

# usage: remove MODULE: retries, because a network namespace that ends keeps its rules for a while
remove() {
	for _ in $(seq 240); do
		[ -e "/sys/module/$1" ] || return 0
		rmmod "$1" 2>/dev/null || sleep 0.5
	done
	ktap_diag "$1 is in use: $(cat "/sys/module/$1/refcnt")"
}

sum() {
	awk -v name="$1" '$1 == name { print $2 }' "$params/torture"
}

# usage: run STEPS: afterwards the sums can be read
run() {
	echo "$1" > "$params/torture" || return
	ktap_diag "$(paste -s -d ' ' "$params/torture")"
}

each_happened() {
	for name in inserts soft_inserts tests within_w gone pairs rotations clears swaps replaced \
		destroyed snapshots copied retiring in_lanes in_ge in_apbbf in_elastic in_dict in_tlbf; do
		[ "$(sum $name)" -gt 0 ] || {
			echo "$name: 0"
			return 1
		}
	done
}

# Waits until no table has memory: a worker frees it after a grace period.
no_areas() {
	for _ in $(seq 240); do
		grep -q -e epf_ -e '\[epochfilter\]' /proc/vmallocinfo || return 0
		sleep 0.5
	done
	grep -e epf_ -e '\[epochfilter\]' /proc/vmallocinfo
	return 1
}

few_ghosts() {
	[ "$(sum ghosts)" -le $(($(sum tests) / 10000)) ]
}

unload() {
	no_areas && rmmod epochfilter_kinds && rmmod epochfilter
}

keys_lost() {
	[ "$(sum lost)" -gt 0 ]
}

violated() {
	[ "$(sum violations)" -gt 0 ]
}

# Seldom a pair of which both callers are told present; more often keys that are told to be
# younger than they are.
told_wrong() {
	violated || ! few_ghosts
}

# usage: caught FLAGS LAW WHAT
caught() {
	echo $(($1 | stall)) > "$params/broken"
	for _ in $(seq $tries); do
		run $broken_steps
		"$2" && break
	done
	ktap_check "caught: $3: lost $(sum lost), violations $(sum violations), ghosts $(sum ghosts)" "$2"
}

# usage: load FORM
load() {
	insmod "$built/$1/epochfilter.ko" && insmod "$built/$1/epochfilter_kinds.ko"
}

remove xt_epf # both depend on epochfilter
remove epochfilter_kinds
remove epochfilter
load plain
run "$steps"
ktap_is "it runs for $steps steps on each of $(nproc) CPUs" $? 0
run_log=$(dmesg | grep 'torture: ')
ktap_is 'no law was broken' "$(sum violations)$run_log" 0
ktap_check 'ghosts are rare' few_ghosts
ktap_check 'and everything happened' each_happened
ktap_check 'its memory is free, it unloads' unload
[ -z "$only" ] || ktap_finish

load broken
echo $stall > "$params/broken"
run $broken_steps
ktap_is 'with stalls alone no law is broken' "$(sum violations)" 0
caught $no_cas keys_lost 'a store instead of compare-and-swap'
caught $no_or keys_lost 'an OR that is not atomic'
caught $sees_self told_wrong 'an OR that tells the word afterwards'
caught $no_grace keys_lost 'no grace period'
caught $ahead keys_lost 'the worker sweeps before it retires'
caught $expired keys_lost 'a slice goes before it has expired'
caught $line violated 'elastic: insertions that do not lock their line'
ktap_check 'it unloads' unload
ktap_finish
