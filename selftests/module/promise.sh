#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the error guarantee (promise.c) with a module whose grace periods never end, and with one
# whose worker never runs: the module of the stress test, in which both can be disabled. That module
# also counts the holders of an instance's lock (turns.c). In a VM only; leaves the module under
# test loaded.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
. "$here/modules.sh"
top=${here%/*/*}
ko=${EPF_KO:-$top/build/kmod/epochfilter.ko}
broken=${EPF_TORTURE_DIR:-$top/build/selftests/torture}/broken/epochfilter.ko
broken_kinds=${broken%/*}/epochfilter_kinds.ko
built=$top/build/selftests/module

[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'
[ -e "$broken" ] || ktap_skip_all "$broken is not built: make -C selftests/torture"

# usage: promise FLAGS, as in torture/broken/epf/estimate.h: 512 and 1024, and 2048 so
# that batches do not wait, just as packets do not
promise() {
	"$built/promise" "$1" > "$ktap_log.out" 2>&1
	status=$?
	ktap_diag "$(cat "$ktap_log.out")"
	rm -f "$ktap_log.out"
	return $status
}

turns() {
	"$built/turns" > "$ktap_log.out" 2>&1
	status=$?
	ktap_diag "$(cat "$ktap_log.out")"
	rm -f "$ktap_log.out"
	return $status
}

ktap_plan 5
rmmod epochfilter_kinds 2> /dev/null
rmmod epochfilter 2> /dev/null
ktap_check 'a module in which all can be held up' \
	insmod_both "$broken" "$broken_kinds"
ktap_check 'a grace period that never ends' promise 2560
ktap_check 'a worker that never comes' promise 3072
ktap_check 'ten times the planned rate' promise 2048
ktap_check 'batches take turns at the lock of packets' turns
remove epochfilter_kinds
rmmod epochfilter
insmod "$ko"
ktap_finish
