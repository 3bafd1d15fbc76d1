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
[ -e "$broken" ] || ktap_skip_all "$broken is not built: make -C selftests/torture"

# usage: shown COMMAND ARG...: tells what it prints even if it passes
shown() {
	"$@" > "$ktap_log.out" 2>&1
	status=$?
	ktap_diag "$(cat "$ktap_log.out")"
	rm -f "$ktap_log.out"
	return $status
}

ktap_plan 5
ktap_check 'a module in which all can be held up' insmod_broken
# Flags as in torture/broken/epf/estimate.h: 512 and 1024, and 2048 so that batches do not
# wait, just as packets do not.
ktap_check 'a grace period that never ends' shown "$built/promise" 2560
ktap_check 'a worker that never comes' shown "$built/promise" 3072
ktap_check 'far more than the planned rate' shown "$built/promise" 2048
ktap_check 'batches take turns at the lock of packets' shown "$built/turns"
insmod_again
ktap_finish
