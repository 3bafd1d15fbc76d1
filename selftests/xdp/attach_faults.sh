#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every bpf(2) call of attach and of detach fails in turn with ENOMEM. A failure is
# reported in one line; a failed attach leaves nothing, and after a failed detach
# detaching again works. Afterwards nothing holds the filter.
#
# EPF_EVERY=N: each N-th call (100; 10 with EPF_THOROUGH). There are some 470 calls, which
# take a second each on an emulated machine.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=../cli/lib.sh disable=SC1091
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" = 0 ] || ktap_skip_all 'needs root'
[ -n "${EPF_VM:-}" ] || ktap_skip_all 'makes interfaces: in a VM only'
[ "$(uname -m)" = x86_64 ] || ktap_skip_all 'fail_nth.c is for x86-64'
[ -e /dev/epochfilter ] || insmod "${EPF_KO:-$top/build/kmod/epochfilter.ko}" ||
	ktap_skip_all 'the module does not load'
fail=$top/build/selftests/xdp/fail.so
[ -e "$fail" ] || ktap_skip_all "$fail is not built"
modprobe veth
ip link add af-a type veth peer name af-b && ip link set af-a up &&
	ethtool -K af-a rx-vlan-hw-parse off rx-vlan-stag-hw-parse off ||
	ktap_skip_all 'no veth'
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
ktap_plan 4
ktap_cleanup ip link del af-a
pins=/sys/fs/bpf/epochfilter
"$EPFCTL" create af -W 1000 > /dev/null
struck=$tmp/struck
every=${EPF_THOROUGH:+10}
every=${EPF_EVERY:-${every:-100}}

# faulty N ARG...
faulty() {
	rm -f "$struck"
	EPF_NTH=$1 EPF_STRUCK=$struck LD_PRELOAD=$fail "$EPFCTL" \
		"${@:2}" < /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
}
one_line() {
	[ "$status" = 2 ] && [ ! -s "$tmp/out" ] &&
		[ "$(grep -c '^error: ' "$tmp/err")" = 1 ] &&
		[ "$(wc -l < "$tmp/err")" = 1 ]
}
users() {
	"$EPFCTL" -j show af | sed -n 's/.*"users": *\([0-9]*\).*/\1/p'
}
# The kernel frees programs and maps a moment later.
nothing_left() {
	local i

	[ -z "$(ls "$pins" 2> /dev/null)" ] && ! ip link show af-a | grep -q xdp ||
		return
	for ((i = 0; i < 600; i++)); do
		[ "$(users)" = 0 ] && return
		sleep 0.1
	done
	return 1
}

# attach_each OPTION...
attach_each() {
	for ((nth = 1; nth < 1000; nth += every)); do
		faulty "$nth" attach af-a --filter af "$@"
		[ -e "$struck" ] || break
		if [ "$status" = 0 ]; then
			absorbed=$((absorbed + 1))
			"$EPFCTL" detach af-a || return
		else
			one_line || return
		fi
		nothing_left || return
	done
	[ "$status" = 0 ] && "$EPFCTL" detach af-a && nothing_left
}
detach_each() {
	for ((nth = 1; nth < 1000; nth += every)); do
		"$EPFCTL" attach af-a --filter af "$@" || return
		faulty "$nth" detach af-a
		[ "$status" = 0 ] || one_line || return
		[ "$status" = 0 ] || "$EPFCTL" detach af-a || return
		nothing_left || return
		[ -e "$struck" ] || return 0
	done
	return 1
}
for how in '' --no-dispatcher; do
	absorbed=0
	# shellcheck disable=SC2086 # an option or none
	claim "attach $how: each bpf(2) fails: one line, and nothing is left" \
		attach_each $how
	ktap_diag "$((nth - 1)) calls, $absorbed done without"
	# shellcheck disable=SC2086
	claim "detach $how: each bpf(2) fails: done, or done by the next" \
		detach_each $how
	ktap_diag "$((nth - 1)) calls"
done

ktap_finish
