#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Pure BPF filters without root: a user with CAP_BPF and CAP_NET_ADMIN creates and
# attaches them; without capabilities the user can use own filters. Missing capabilities
# are named. Runs in its own namespaces.
# shellcheck disable=SC2317 # functions that checks call

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
epfctl=${EPFCTL:-$PWD/build/user/epfctl}

[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
[ -x "$epfctl" ] || ktap_skip_all 'needs epfctl: make user'
command -v setpriv > /dev/null || ktap_skip_all 'needs setpriv'
if [ -z "${EPF_OWN_NET:-}" ]; then
	unshare -m -n true 2> /dev/null || ktap_skip_all 'no namespaces here'
	EPF_OWN_NET=1 exec unshare -m -n "$0" "$@"
fi
mount -t bpf -o mode=0777 bpf /sys/fs/bpf || ktap_skip_all 'no BPF file system'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
mkdir "$tmp/own" && chmod 755 "$tmp" && chown 1000 "$tmp/own" || exit 1
install -m 755 "$epfctl" "$tmp/epfctl" || exit 1 # its directory may belong to root
epfctl=$tmp/epfctl snap=$tmp/own/snap
programs=bpf,net_admin three=$programs,perfmon
uid=1000

# usage: as CAPABILITIES COMMAND...: runs it with exactly these, separated by commas
as() {
	local caps=-all${1:+,+${1//,/,+}}
	shift
	${instead:-} setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps="$caps" \
		--ambient-caps="$caps" --bounding-set="$caps" "$@"
}

epf() { # usage: epf CAPABILITIES VERB...
	local caps=$1
	shift
	as "$caps" "$epfctl" --backend bpf "$@"
}

"$epfctl" --backend bpf create root --window 100 > "$tmp/made" 2>&1 ||
	ktap_skip_all "no BPF here: $(head -n 1 "$tmp/made")"
"$epfctl" --backend bpf destroy root

a=a
use() {
	epf '' "$@"
}
there() {
	"$@"
}
. selftests/ebpf/lib.sh

hold() {
	goes_on use hold a
}

without() { # $programs but for $1
	sed "s/\b$1\b//; s/,,/,/; s/^,//; s/,\$//" <<< "$programs"
}

# usage: lacking NAME VERB...: without this one of the two, the error names it
lacking() {
	says "needs CAP_${1^^}:" epf "$(without "$1")" "${@:2}"
}

sysctl -q net.ipv6.conf.default.disable_ipv6=1
ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up ||
	ktap_skip_all 'no veth here'

ktap_plan 40
for cap in bpf net_admin; do
	ktap_check "create without CAP_${cap^^}: named" lacking "$cap" create a --window 70000
done
# The verifier of a kernel before 6.18 may be stricter; then the error names the kernel.
# usage: with_two VERB...: succeeds with the two, or fails with that error and succeeds with three
with_two() {
	epf "$programs" "$@" > "$tmp/made" 2>&1 && return
	cat "$tmp/made"
	grep -q "needs CAP_PERFMON on Linux $(uname -r), whose verifier refuses program" "$tmp/made" &&
		[ "$(printf '%s\n' 6.18 "$(uname -r)" | sort -V | head -n 1)" != 6.18 ] &&
		epf "$three" "$@" >> "$tmp/made" 2>&1
}
ktap_check 'create with CAP_BPF and CAP_NET_ADMIN, or said why not' \
	with_two create a --window 70000 --rotate process
ktap_is 'it is that user'\''s' "$(stat -c %u:%a /sys/fs/bpf/epochfilter/a)" "$uid:700"
ktap_check 'hold, without capabilities' hold
ktap_check 'insert' eval "seq 1000 | epf '' insert a -"
ktap_is 'test' "$(present a 1 1000)" 1000
ktap_check 'list' eval "epf '' list --names | grep -qx a"
ktap_check 'show' eval "epf '' show a | grep -q held"
ktap_check 'save' epf '' save a "$snap"
ktap_check 'clear' epf '' clear a
ktap_is 'nothing is there' "$(present a 1 1000)" 0
ktap_check 'restore without CAP_BPF: named' says 'needs CAP_BPF:' epf '' restore a "$snap"
ktap_check 'restore with CAP_BPF' epf bpf restore a "$snap"
ktap_is 'it is there again' "$(present a 1 1000)" 1000
ktap_check 'rotate' epf '' rotate a
epf "$three" create b --window 70000 > /dev/null
ktap_check 'swap, without capabilities' epf '' swap b a
ktap_is 'it is there no more' "$(present a 1 1000)" 0
ktap_check 'destroy' epf '' destroy b

# A timer needs no process, and ends epochs: the keys are gone after eight.
timed() {
	with_two create t --window 800 --rotate kernel &&
		epf '' insert t probe && epf '' test t probe && seq 2000 | epf '' insert t - || return
	SECONDS=0
	while epf '' test t probe > /dev/null; do
		[ "$SECONDS" -lt 60 ] || return
		sleep .05
		seq $((SECONDS * 2000)) $((SECONDS * 2000 + 1999)) | epf '' insert t -
	done
	epf '' destroy t --force
}
if [ "$(cat /sys/kernel/realtime 2> /dev/null)" = 1 ]; then
	ktap_skip 'create --rotate kernel' 'a PREEMPT_RT kernel'
else
	ktap_check 'create --rotate kernel with the two: the timer ends epochs' timed
fi

for cap in bpf net_admin; do
	ktap_check "attach without CAP_${cap^^}: named" \
		lacking "$cap" attach v0 --filter a --no-vlan --no-dispatcher
done
ktap_check 'attach with the two, which libxdp does not do with' \
	eval 'with_two attach v0 --filter a --no-vlan && grep -q "libxdp needs CAP_SYS_ADMIN" "$tmp/made"'
ktap_check 'repeats are dropped, nothing else is' drops
ktap_check 'detach without CAP_NET_ADMIN: named' says 'needs CAP_NET_ADMIN:' epf '' detach v0
ktap_check 'detach, with it alone' epf net_admin detach v0
ktap_check 'nothing is attached' eval '! ip link show v0 | grep -q xdp'

# usage: attaches OPTION...: succeeds with the two; repeats have the verdict $verdict, and no
# other packet has
attaches() {
	epf '' clear a && with_two attach v0 --filter a --no-dispatcher "$@" && drops && epf net_admin detach v0
}
verdict=drop
ktap_check 'with the two, --key frame' attaches --key frame --mirror --vlan-offload off
ktap_check '--key packet --no-mac --bytes 40' attaches --no-mac --no-vlan --bytes 40
ktap_check '--key flow' attaches --key flow
verdict=pass
ktap_check '--action count' attaches --no-vlan --action count
verdict=mark
if [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -n 1)" = 6.6 ]; then
	ktap_check '--action mark' attaches --no-vlan --action mark
else
	ktap_skip '--action mark' 'Linux 6.6 is needed'
fi
verdict=drop

# Root of a user namespace has all capabilities there, and none of them counts for BPF.
inside() { # usage: inside COMMAND...: as that user, root of a user namespace
	as '' unshare -U -r "$@"
}
if inside true 2> /dev/null; then
	let_go
	ktap_check 'in a user namespace nothing is made: said why' \
		says 'in a user namespace' inside "$epfctl" --backend bpf create c --window 100
	holding inside "$epfctl" --backend bpf hold a
	ktap_check 'there, what was made outside is held' grep -q holding "$tmp/held"
	ktap_check 'and used' eval 'inside "$epfctl" --backend bpf insert a there > /dev/null &&
		until inside "$epfctl" --backend bpf test a there; do
			kill -0 "$holder" || break
			sleep .02
		done && inside "$epfctl" --backend bpf test a there'
else
	for _ in 1 2 3; do ktap_skip 'in a user namespace' 'none here'; done
fi

uid=1001
ktap_check 'another user gets none of it' says 'may not be used by this user' epf "$programs" list
uid=1000
let_go
ktap_check 'destroy of what was held' epf '' destroy a
umount /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf
uid=0
ktap_check 'root with the two, and no others' \
	eval 'with_two create a --window 100 && epf "" destroy a'
ktap_check 'the directory of all filters goes with the last' [ ! -e /sys/fs/bpf/epochfilter ]
umount /sys/fs/bpf && mount -t tmpfs none /sys/fs/bpf
ktap_check 'no BPF file system, and no CAP_SYS_ADMIN to mount it: named' \
	says 'lacks CAP_SYS_ADMIN' epf "$programs" create a --window 100
ktap_finish
