#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demo's part on this machine's own kernel, by a filter that is pure BPF; see
# replay.sh. Then the time of a packet, see cost.c. Whatever it made it takes away.

# shellcheck disable=SC2317 # functions that traps and run_demo call

set -eu -o pipefail
shopt -s inherit_errexit

cd "$(dirname "$0")/../.."
. selftests/demo/replay.sh

export EPF_BACKEND=bpf
prefix=demo-$$- filter=demo-$$ rate=50000 # epochs of 143 ms
turns=(--rotate process)
holder='' failed='it was stopped'

fail() {
	failed=$*
	exit 1
}

let_go() {
	[ -z "$holder" ] || { kill "$holder"; wait "$holder"; } 2> /dev/null || true
	holder=''
}

at_exit() {
	local status=$?
	set +e
	trap - EXIT
	[ $status -eq 0 ] || echo "demo: this kernel: $failed" >&2
	{
		in_ns receiver "$epfctl" detach demo1
		let_go
		"$epfctl" destroy --force "$filter"
		ip netns del "${prefix}sender"
		ip netns del "${prefix}receiver"
		rm -rf "$tmp"
	} > /dev/null 2>&1
	exit $status
}
trap at_exit EXIT
trap 'exit 1' INT TERM HUP

# It should not wait for a CPU while packets come.
ahead() {
	chrt -r 1 true 2> /dev/null && set -- chrt -r 1 "$@"
	exec "$@"
}

# Goes on once it ends epochs.
hold() {
	say "epfctl hold $filter &"
	: > "$tmp/held"
	ahead "$epfctl" hold "$filter" > "$tmp/held" &
	holder=$!
	until grep -q holding "$tmp/held"; do
		kill -0 "$holder" 2> /dev/null || fail "epfctl hold ended"
		sleep .02
	done
}

measure() {
	say 'measuring the time of a packet with BPF_PROG_TEST_RUN'
	"$epfctl" create "$filter" --window "$EPF_DEMO_WINDOW" --budget "$EPF_DEMO_BUDGET" \
		--limit never "${turns[@]}" > /dev/null
	hold > /dev/null
	build/selftests/demo/cost build/selftests/demo/cost.bpf.o "$filter" \
		"$EPF_DEMO_WINDOW" > "$EPF_OUT/cost.json"
}

failed='no BPF: epfctl create failed'
"$epfctl" create "$filter" --window 1000 > /dev/null
"$epfctl" destroy "$filter"
failed='no network namespace, or no veth'
ip netns add "${prefix}try"
ip netns del "${prefix}try"
failed='the replay failed'
run_demo hold
failed='measuring the time of a packet failed'
measure
