#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/upgrade.sh: filters, keys, parameters and attachments survive the exchange of
# the module; an upgrade that cannot succeed is not begun.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=../cli/lib.sh disable=SC1091
. "$(dirname "$0")/../cli/lib.sh"

ko=${EPF_KO:-$top/build/kmod/epochfilter.ko}
[ "$(id -u)" = 0 ] || ktap_skip_all 'needs root'
[ -n "${EPF_VM:-}" ] || ktap_skip_all 'unloads the module: in a VM only'
[ -e /dev/epochfilter ] || insmod "$ko" || ktap_skip_all 'the module does not load'
modprobe veth
ip link add up-a type veth peer name up-b && ip link set up-a up &&
	ip link set up-b up || ktap_skip_all 'no veth'
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
ktap_plan 33
ktap_cleanup ip link del up-a
export EPF_STATE=$tmp/state

upgrade() {
	EPF_CTL=${ctl:-$EPFCTL} "$top/scripts/upgrade.sh" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}

# An upgrade that changes nothing, and says why
refuses() {
	upgrade "${@:2}"
	[ "$status" = 1 ] && [ ! -s "$tmp/out" ] &&
		grep -qE "^upgrade: .*$1" "$tmp/err" && [ ! -e "$EPF_STATE" ]
}
# Prints filters and attachments, without the values that start anew
picture() {
	"$EPFCTL" -j list | python3 -IS -c '
import json, sys
for f in json.load(sys.stdin):
    print({k: f.get(k) for k in ("name", "kind", "window_inserts", "window_ns", "lines", "shape",
                              "budget", "limit", "hash", "mode", "refresh", "aligned")})'
	"$EPFCTL" status | grep -v '^ ' | sed 's/, program [0-9]*//'
}
keys_are_there() {
	local name

	{
		for name in first $kinds; do
			echo "test -q up-$name -f $tmp/keys"
		done
		echo 'test -q up-second other'
	} | "$EPFCTL" batch -
}

kinds='ge apbf dict tlbf chain elastic'
seq 500 > "$tmp/keys"
echo 77 > /sys/module/epochfilter/parameters/max_filters
gives 0 '^created' create up-first -W 100k --strict
gives 0 '^created' create up-second --time 1h --rate 100 -b 1e-6 --first-seen --align
gives 0 '^$' insert up-first -f "$tmp/keys"
for kind in $kinds; do
	claim "a filter of kind $kind" make_kind "up-$kind" "$kind"
	gives 0 '^$' insert "up-$kind" -f "$tmp/keys"
done
gives 0 '^$' insert up-second other
# usage: attaches ARG...: succeeds, with the warning that the filter has other keys
attaches() {
	local good=no
	epf attach "$@"
	[ "$status" = 0 ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -q "^warning: .* already held other keys" "$tmp/err" && good=yes
	verdict "attach $* -> 0" $good
}
attaches up-a --filter up-first --key packet --no-mac --bytes 200 \
	--no-dispatcher --mirror --vlan-offload off
attaches up-b --filter up-second --key flow --action mark \
	--mark 0x100 --mode generic --no-dispatcher
picture > "$tmp/before"
claim 'there are eight filters and two attachments' \
	[ "$(wc -l < "$tmp/before")" = 10 ]

claim 'a file that is no module: refused' refuses 'is not a module' "$tmp/keys"
claim 'a file that is not there: refused' refuses 'cannot read' "$tmp/none"
users() {
	"$EPFCTL" -j show up-first | sed -n 's/.*"users": *\([0-9]*\).*/\1/p'
}
watching() {
	local pid result=0 tries before

	before=$(users)

	"$EPFCTL" watch up-first > "$tmp/watch" 2>&1 &
	pid=$!
	for ((tries = 0; tries < 600; tries++)); do
		[ "$(users)" = $((before + 1)) ] && break
		sleep 0.1
	done
	refuses 'the module is in use.*nothing was changed' "$ko" || result=1
	kill $pid
	wait $pid
	picture | cmp - "$tmp/before" && keys_are_there || result=1
	return $result
}
claim 'a filter that is held: refused, and all is as it was' watching

# An epfctl that creates a filter behind the list that it prints, as somebody else might
racer=$tmp/race/epfctl
mkdir "$tmp/race"
cat > "$racer" <<RACE
#!/bin/sh
"$EPFCTL" "\$@" || exit
case "\$*" in
*list*) ! "$EPFCTL" create up-late -W 100k > "$tmp/late" 2>&1 || echo made > "$tmp/made" ;;
esac
RACE
chmod +x "$racer"
# What was listed last is all there is: nobody could create another filter.
none_late() {
	cat "$tmp/late"
	[ ! -e "$tmp/made" ] && grep -q max_filters "$tmp/late"
}

ctl=$racer upgrade "$ko"
claim 'it upgrades' [ "$status" = 0 ]
claim 'nobody creates a filter that would be lost' none_late
claim 'and tells the gap' grep -qE \
	'^upgraded: 8 filters, 2 interfaces; a gap of [0-9]+ ms$' "$tmp/out"
ktap_diag "$(cat "$tmp/out" "$tmp/err")"
claim 'all keys are there' keys_are_there
claim 'parameters and attachments are what they were' \
	cmp <(picture) "$tmp/before"
claim 'so are the parameters of the module' \
	grep -qx 77 /sys/module/epochfilter/parameters/max_filters
claim 'no snapshot is left' [ ! -e "$EPF_STATE" ]
drops() {
	local i kind

	"$EPFCTL" detach up-a && "$EPFCTL" detach up-b || return
	for kind in $kinds; do
		"$EPFCTL" destroy "up-$kind" || return
	done
	for ((i = 0; i < 600; i++)); do
		rmmod epochfilter_kinds
		rmmod epochfilter && return
		sleep 0.1
	done
	return 1
}
refuses_unload() {
	! PATH=${EPFCTL%/*}:$PATH "$top/scripts/unload.sh" 2> "$tmp/err" && cat "$tmp/err" &&
		grep -qx 'unload: filters exist.*: .*up-first.*' "$tmp/err" && grep -qx 77 "$most"
}
unloads() {
	rm "$tmp/late"
	insmod "$ko" max_filters=77 && PATH=$tmp/race:$PATH "$top/scripts/unload.sh" &&
		[ ! -d /sys/module/epochfilter ]
}
most=/sys/module/epochfilter/parameters/max_filters
claim 'unload.sh unloads nothing while there are filters, and their limit is as before' refuses_unload
claim 'and nothing holds the module' drops
claim 'unload.sh unloads it without filters' unloads
claim 'nobody creates one behind its list' none_late

ktap_finish
