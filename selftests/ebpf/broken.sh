#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What epfagent.py must notice: each variant is the agent with one source that has
# one edit, linked with the objects of the whole one.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

build=${BUILD:-$PWD/build}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
[ -e "$build/user/obj/epfagent/hold.o" ] || ktap_skip_all 'no objects to link with'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: variant FILE EDIT; an edit that changes nothing is an error
variant() {
	sed "$2" "user/$1.c" > "$tmp/broken.c" || return
	! cmp -s "user/$1.c" "$tmp/broken.c" || return
	make -s -C user BUILD="$build" BROKEN="$tmp/broken.c" BROKEN_OF="$1" \
		BROKEN_OUT="$tmp/epfagent" broken
}

claim_fails() {
	EPF_AGENT=$tmp/epfagent BUILD=$build EPF_PATIENCE=15 \
		timeout 600 selftests/ebpf/epfagent.py "$1" | grep '^not ok'
}

# usage: broken WHAT FILE EDIT CLAIM
broken() {
	if variant "$2" "$3"; then
		ktap_check "$1" claim_fails "$4"
	else
		ktap_fail "$1" 'not built'
	fi
}

EPF_BACKEND=bpf "$build/user/epfctl" doctor > /dev/null || ktap_skip_all 'no BPF here'
ktap_plan 3 6
broken 'what others hold is never taken over' epfagent/hold \
	's/if (!ret || ret == -ENODEV || ret == -ENOENT)/if (1)/' \
	'of a holder that is killed it is taken over, and nothing is lost'
ktap_thorough broken 'new filters are not looked for' epfagent/hold \
	's/} while (wait_ns(h, LOOK_NS));/} while (wait_ns(h, 3600 * NS_PER_SEC));/' \
	'a new filter is noticed'
ktap_thorough broken 'one that is locked makes others late' epfagent/hold \
	's/^\tret = step_on(g, hold);/\tstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(\&m); ret = step_on(g, hold); pthread_mutex_unlock(\&m);/' \
	'one that is locked makes no other late'
broken 'what the agent holds cannot be destroyed' epfagent/hold \
	's/^\tebpf_hold_yield(hold);//' 'it may be destroyed, and made again'
ktap_thorough broken 'a mirror is refused for another reason' epfagent/mirrors \
	's/if (err == -ENOTTY)/if (0)/' 'a mirror is refused in one line'
broken 'metrics do not tell the backends apart' epfagent/metrics \
	's/if (i >= p->bpf)/if (0)/' 'its numbers are collected'
ktap_finish
