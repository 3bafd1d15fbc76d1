#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The firewall demo's second part: the module's match for iptables (-m epf) beside its
# peers, on the stock kernel in a VM. The experiment is that of firewall.sh, a sixteenth
# in size. The VM's CPU is emulated in software and counts instructions: they can be
# compared with one another, and not with times.
#
# Guarantee: that of firewall.sh, for the column "ours_match". If there is no VM, one
# line says which step failed.
#
# Exit: 0 as promised, 1 not, 2 could not run.

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
demo=$top/selftests/demo
work=$top/build/demo/firewall
subjects='dropping none conntrack conntrack_drop nft ours_iptables ours_match'
budget=1e-6 planned=16384 sources=65536
PATH=$PATH:/usr/sbin:/sbin

usage() {
	cat <<'USAGE'
usage: selftests/demo/firewall_guest.sh [OPTION]...

  -j, --json    print JSON in place of the table
  --prepared    install nothing, build nothing: all is there

In a VM: firewall.sh, with its options, after loading the module and its match.
USAGE
}

die() {
	echo "demo-firewall: the module's match in a VM: $*" >&2
	exit 2
}

# usage: load NAME
load() {
	[ -d "/sys/module/$1" ] || insmod "$(dirname "${EPF_KO:-$top/build/kmod/.}")/$1.ko"
}

# usage: measure OPTION... In the VM; conntrack is planned for as many flows as the others.
measure() {
	modprobe -a x_tables nf_conntrack 2> /dev/null # either may be built in
	echo $planned > /proc/sys/net/netfilter/nf_conntrack_max
	load epochfilter && load xt_epf || die 'the modules do not load'
	XTABLES_LIBDIR=$top/build/user:$(pkg-config --variable=xtlibdir xtables)
	export XTABLES_LIBDIR
	uname -r > "$EPF_OUT/release"
	exec "$demo/firewall.sh" "$@"
}

prepare() {
	"$top/scripts/deps.sh" --install build vm firewall >&2 || die 'packages are missing'
	for name in user kmod selftests/demo; do
		make -j "$(nproc)" -C "$top/$name" > "$work/log" 2>&1 ||
			{ cat "$work/log" >&2; die "$name: not built"; }
	done
}

[ -z "${EPF_VM:-}" ] || measure "$@"
json='' prepared=''
for option in "$@"; do
	case $option in
	-j | --json) json=--json ;;
	--prepared) prepared=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
mkdir -p "$work/out" && rm -f "$work"/out/* || die "cannot write $work"
[ -n "$prepared" ] || prepare
[ -e "$top/build/kmod/xt_epf.ko" ] || die 'xt_epf.ko is not built'
echo "The module's match for iptables, booting a VM; in it:" >&2
(cd "$top" && exec selftests/vm/run.sh --icount --idle --timeout 900 --out "$work/out" -- \
	"$demo/firewall_guest.sh" --prepared --planned $planned --sources $sources \
	--subjects "$subjects" --results "$work/out") >&2 || die "the run failed, exit status $?"
[ -n "$json" ] || printf '\nIn a VM, Linux %s, on one CPU that is emulated in software:\n' \
	"$(cat "$work/out/release")"
# shellcheck disable=SC2086 # a word for each
"$demo/firewall_judge.py" $json --instructions "$work/out" ours_match "$budget" $subjects
