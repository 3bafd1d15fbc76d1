#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl in a time namespace, whose clocks are ahead of the kernel's or behind: a pure BPF filter
# that is created or held there ends its epochs in time, and reports no cover that it has not.
# shellcheck disable=SC2317 # functions that checks call

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
epfctl=${EPF_CTL:-$PWD/build/user/epfctl}
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
[ -x "$epfctl" ] || ktap_skip_all 'needs epfctl: make user'
unshare -T --monotonic=9 --boottime=9 --fork true 2> /dev/null ||
	ktap_skip_all 'no time namespaces here'
selftests/ebpf/sweep.py
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
name=epftest-timens-$$
epf() {
	"$epfctl" --backend bpf "$@"
}
# shellcheck disable=SC2329 # a cleanup
gone() {
	epf destroy "$name" --force
} > /dev/null 2>&1
ktap_cleanup gone
epf create "$name" --window 7000 > "$tmp/made" 2>&1 ||
	ktap_skip_all "no BPF here: $(head -n 1 "$tmp/made")"
gone

# The cases, or only those of the arguments: created, held and seen in namespaces that are ahead by so
# many seconds.
[ $# -gt 0 ] || set -- '100000 0 0' '0 100000 0' '0 0 100000' '-1000 0 0' '0 -1000 0' '100000 -1000 77'
ktap_plan $#

# usage: there SECONDS VERB...: epfctl in a namespace whose clocks are ahead by that
there() {
	unshare -T --monotonic="$1" --boottime="$1" --fork --kill-child \
		"$epfctl" --backend bpf "${@:2}"
}

# usage: fields WHERE: age and cover in ns, ended epochs, as seen here (0) or there
fields() {
	{ [ "$1" = 0 ] && epf -j show "$name" || there "$1" -j show "$name"; } | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["age_ns"], d["covered_ns"], d["stats"]["rotations"])'
}

# In a window of 3 s an epoch lasts 3/7 s. A filter of at most @most seconds covers no more.
lives() { # MADE HELD SEEN: in the namespaces ahead by that
	local holder made=$EPOCHREALTIME age covered rotations most

	there "$1" create "$name" --time 3s --rate 1000 --rotate process || return
	there "$2" hold "$name" > "$tmp/hold" 2>&1 &
	holder=$!
	seq 9 | there "$3" insert "$name" - || return
	for _ in $(seq $((10 * ${EPF_PATIENCE:-30}))); do
		read -r age covered rotations < <(fields "$3")
		[ "$rotations" -lt 8 ] || break
		sleep .1
	done
	most=$(python3 -c "print(int(($EPOCHREALTIME - $made) * 1e9))")
	kill "$holder"
	wait "$holder"
	gone
	echo "# made $1, held $2, seen $3: age $age ns of $most, covered $covered, $rotations rotations"
	[ "$rotations" -ge 8 ] && [ "$age" -le "$most" ] && [ "$covered" -le 5000000000 ] &&
		[ "$covered" -ge 3000000000 ]
}
for offsets; do
	# shellcheck disable=SC2086 # three words
	ktap_check "made, held and seen in namespaces ahead by $offsets s" lives $offsets
done

ktap_finish
