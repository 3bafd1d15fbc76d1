#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Pure BPF filters inside a user namespace with a BPF token: create, hold, insert, test,
# attach, detach and destroy by its root, which is user 1000 outside. Without a right that
# the token must grant, the error names that right.
# shellcheck disable=SC2317,SC2329 # functions that checks call

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
epfctl=${EPFCTL:-$PWD/build/user/epfctl}

[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
[ -x "$epfctl" ] || ktap_skip_all 'needs epfctl: make user'
for tool in nsenter setpriv python3; do
	command -v "$tool" > /dev/null || ktap_skip_all "needs $tool"
done
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
chmod 777 "$tmp"
install -m 755 "$epfctl" "$tmp/epfctl" || exit 1 # its directory may belong to root
install -m 755 selftests/ebpf/delegate.py "$tmp/delegate" || exit 1
epfctl=$tmp/epfctl

# shellcheck disable=SC2034 # masks() reads them by name
{
	# bits of linux/bpf.h
	cmds=(map_create 0 prog_load 5 btf_load 18)
	maps=(array 2 percpu_array 6 array_of_maps 12)
	progs=(socket_filter 1 xdp 6)
	attachs=(cgroup_inet_ingress 0 xdp 37)
	mark_progs=(sched_cls 3)
}

# usage: mask LACKING NAME BIT [NAME BIT]...: prints the mask of all but LACKING
mask() {
	local but=$1 sum=0
	shift
	while [ $# -gt 0 ]; do
		[ "$1" = "$but" ] || sum=$((sum | 1 << $2))
		shift 2
	done
	printf '0x%x\n' "$sum"
}

# usage: masks OPTION=NAME: prints all four masks, without that one
masks() {
	local list lacks
	for list in cmds maps progs attachs; do
		lacks=
		[ "${1%%=*}" != "$list" ] || lacks=${1#*=}
		local -n all=$list
		mask "$lacks" "${all[@]}"
	done
}

# usage: delegating MASKS COMMAND...: runs it in namespaces of its own
delegating() {
	local masks=$1
	shift
	# shellcheck disable=SC2086 # four words
	"$tmp/delegate" $masks "$@"
}

a=a
use() {
	epf "$@"
}
there() {
	inside "$@"
}
. selftests/ebpf/lib.sh

said=$(delegating "$(masks)" true 2>&1) || ktap_skip_all "no delegation here: $said"
"$epfctl" --backend bpf create token --window 100 > "$tmp/made" 2>&1 ||
	ktap_skip_all "no BPF here: $(head -n 1 "$tmp/made")"
"$epfctl" --backend bpf destroy token

# usage: begin MASKS: starts one that stays until its standard input ends, and sets $pid
begin() {
	exec 7> >(delegating "$1" sh -c 'echo $$ > '"$tmp/pid"'; exec cat' > /dev/null)
	until [ -s "$tmp/pid" ]; do sleep .02; done
	# The process id outside, because there is no other process namespace.
	pid=$(< "$tmp/pid")
}

inside() {
	${instead:-} nsenter -t "$pid" -U -m -n -S 0 -G 0 "$@"
}

epf() {
	inside "$epfctl" --backend bpf "$@"
}

hold() {
	goes_on use hold a
}

veth() {
	inside sh -ec 'sysctl -q net.ipv6.conf.default.disable_ipv6=1
		ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up'
}

with() { # usage: with CAPABILITIES COMMAND...: runs it inside, with exactly those
	local caps=$1
	shift
	inside setpriv --inh-caps=-all --bounding-set="-all,$caps" "$@"
}

# usage: with_two COMMAND...: succeeds with the two, or, if the verifier is stricter and the
# error says so, with the three
with_two() {
	with +bpf,+net_admin "$@" > "$tmp/made" 2>&1 && return
	cat "$tmp/made"
	grep -q "needs CAP_PERFMON on Linux $(uname -r), whose verifier refuses program" "$tmp/made" &&
		[ "$(printf '%s\n' 6.18 "$(uname -r)" | sort -V | head -n 1)" != 6.18 ] &&
		with +bpf,+net_admin,+perfmon "$@"
}

create=("$epfctl" --backend bpf create a --window 70000 --rotate process)
refused='cmds=map_create cmds=prog_load cmds=btf_load maps=array maps=array_of_maps
	progs=socket_filter progs=xdp attachs=cgroup_inet_ingress'

ktap_plan 31
ktap_check 'nothing is delegated: said what is needed' \
	says 'needs a BPF token' delegating '0x0 0x0 0x0 0x0' "${create[@]}"
ktap_check 'doctor: it is missing' eval "delegating '0x0 0x0 0x0 0x0' '$epfctl' doctor |
	grep -q '^missing .* a BPF token'"
for what in $refused; do
	ktap_check "create without delegate_$what: named" \
		says "mount it with delegate_$what\$" delegating "$(masks "$what")" "${create[@]}"
done
attach='ip link add v0 type veth peer name v1; ip link set v0 up
	'"$epfctl"' --backend bpf create a --window 100 > /dev/null
	'"$epfctl"' --backend bpf attach v0 --filter a --no-vlan --no-dispatcher'
ktap_check 'attach without delegate_maps=percpu_array: named' \
	says 'mount it with delegate_maps=percpu_array$' delegating "$(masks maps=percpu_array)" \
	sh -c "$attach"
ktap_check 'attach --action mark without delegate_progs=sched_cls: named' \
	says 'mount it with delegate_progs=sched_cls$' \
	delegating "$(masks)" sh -c "$attach --action mark"

progs+=("${mark_progs[@]}")
begin "$(masks)"
ktap_is 'root inside is another user outside' "$(stat -c %u "/proc/$pid")" 1000
ktap_check 'doctor: it is there' eval "epf doctor | grep -q '^ok .* a BPF token'"
for cap in bpf net_admin; do
	ktap_check "inside, create without CAP_${cap^^}: named" says "needs CAP_${cap^^}:" \
		with "+bpf,+net_admin,+perfmon,-$cap" "${create[@]}"
done
ktap_check 'create with the two and the token, or said why not' with_two "${create[@]}"
ktap_check 'hold' hold
ktap_check 'insert' eval 'seq 1000 | epf insert a -'
ktap_is 'test' "$(present a 1 1000)" 1000
ktap_check 'save and restore' eval 'epf save a "$tmp/snap" && epf restore a "$tmp/snap"'
ktap_check 'a veth pair' veth
ktap_check 'attach without CAP_BPF: named' says 'needs CAP_BPF:' \
	with +net_admin "$epfctl" --backend bpf attach v0 --filter a --no-vlan
ktap_check 'attach with the two' with_two "$epfctl" --backend bpf attach v0 --filter a --no-vlan --no-dispatcher
ktap_check 'repeats are dropped, nothing else is' drops
ktap_check 'detach with CAP_NET_ADMIN' with +net_admin "$epfctl" --backend bpf detach v0
ktap_check 'attach with all, and repeats are dropped' \
	eval 'epf clear a && epf attach v0 --filter a --no-vlan && drops && epf detach v0'
ktap_check 'attach --action mark with the two, and detach' \
	eval 'with_two "$epfctl" --backend bpf attach v0 --filter a --no-vlan --no-dispatcher --action mark &&
	epf detach v0'
ktap_check 'nothing is attached' eval '! inside ip link show v0 | grep -q xdp'
let_go
ktap_check 'destroy' epf destroy a
if [ "$(cat /sys/kernel/realtime 2> /dev/null)" = 1 ]; then
	ktap_skip 'create --rotate kernel' 'a PREEMPT_RT kernel'
else
	ktap_check 'create --rotate kernel with the two: it knows without a holder' eval \
		'with_two "$epfctl" --backend bpf create k --window 70000 --rotate kernel && epf insert k x &&
		epf test k x && epf destroy k --force'
fi
exec 7>&-
ktap_finish
