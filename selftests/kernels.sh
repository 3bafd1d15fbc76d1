#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the suites in virtual machines on kernels other than the one that the module is
# developed on. Each kernel gets its own build of the module. Guarantees:
#  - each suite ends with "N passed, N failed, N skipped", alone; an error outside a test
#    point (a kernel's complaint, a leak, a module that does not build) counts as a failed
#    point;
#  - exit status 0 means that nothing failed.

set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
state=$top/build/kernels

usage() {
	cat <<'USAGE'
usage: selftests/kernels.sh [--long | --only PROGRAM... | --together PROGRAM...] -- KERNEL...

  KERNEL   oldest  6.1, without the module (scripts/stock.sh)
           rt      Debian's real-time flavour of the stock kernel
           newest  the newest kernel that Debian has (scripts/newest.sh)
           debug   memory errors, locking, RCU, leaks (scripts/kernel.sh)
           kcsan   data races (scripts/kernel.sh)

  --long           also the suites that attach programs and send traffic
  --only           only these programs, in a guest for each: xdp/parity.sh,
                   module/batch
  --together       only these, one after another in one guest

  For programs of bpf/, demo/ and ebpf/ alone (but *_vm) no module is built, and rt need not be
  installed.
USAGE
}

# Scripts are in this directory, built programs in build/.
path_of() {
	if [[ $1 = /* ]]; then echo "$1"; return; fi
	if [ -e "$here/$1" ]; then echo "$here/$1"; else echo "$top/build/selftests/$1"; fi
}

quick=("$here"/xdp/{verifier.sh,kfunc.sh,race.sh,parity.sh} "$here/xt/xt.py")
long=("$here"/xdp/{attach.py,attach_faults.sh,traffic.py} "$here/metrics/vm.py")
programs=("${quick[@]}") whole=1 together=
case ${1:-} in
--long) programs+=("${long[@]}"); shift ;;
--only | --together)
	[ "$1" = --only ] || together=1
	shift
	programs=() whole=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		programs+=("$(path_of "$1")")
		shift
	done
	;;
esac
[ "${1:-}" != -- ] || shift
# Can all programs run without the module?
bare=1
[ -z "$whole" ] || bare=
for path in "${programs[@]}"; do
	case $path in
	*_vm.sh) bare= ;;
	*/selftests/bpf/* | */selftests/demo/* | */selftests/ebpf/*) ;;
	*) bare= ;;
	esac
done
# Some use the stress test, and of these some the form with protections disabled.
case $whole${programs[*]} in
1* | *module/half* | *module/promise*) ;;
*torture*) export EPF_TORTURE_KINDS=plain ;;
*) export EPF_TORTURE_KINDS=none ;;
esac
# Tests that repeat under load repeat more often, except in the boots of make check.
[ -n "$together" ] || export EPF_THOROUGH=1
[ $# -gt 0 ] || { usage >&2; exit 2; }

last=$(mktemp) || exit 1
trap 'rm -f "$last"' EXIT
broken=0

fail() {
	broken=1
	printf 'not ok - %s\n0 passed, 1 failed, 0 skipped\n' "$*"
}

# usage: skip NAME REASON
skip() {
	printf 'ok - %s # SKIP %s\n0 passed, 0 failed, 1 skipped\n' "$1" "$2"
}

# usage: suite NAME COMMAND...
suite() {
	local name=$1
	shift
	"$@" 2>&1 | tee "$last" && return
	broken=1
	grep -qE '^[0-9]+ passed, [1-9][0-9]* failed' "$last" ||
		fail "$name: ended badly outside its test points"
}

# usage: module RELEASE HEADERS; rebuilds all if the headers are newer than the objects
module() {
	local ko=$built/kmod/epochfilter.ko
	{ [ "$ko" -nt "$2/Makefile" ] && [ "$ko" -nt "$2/epf-stamp" ]; } || rm -rf "$built"
	make -s -C "$top/kmod" KREL="$1" KDIR="$2" KOUT="$built/kmod" >&2 || return
	[ "${EPF_TORTURE_KINDS:-}" = none ] ||
		make -s -C "$here/torture" KREL="$1" KDIR="$2" KMOD="$built/kmod" OUT="$built/torture" \
			${EPF_TORTURE_KINDS:+KINDS="$EPF_TORTURE_KINDS"} >&2
}

# Each function sets image and modules and builds the modules in $built; it may set more,
# flips, and the steps of the stress test.
prepare_oldest() {
	read -r image modules < <("$top/scripts/stock.sh" oldest)
}

rt_release() {
	local release
	release=$("$top/scripts/deps.sh" --kernel) || return
	echo "${release%-amd64}-rt-amd64"
}

# Prints image and modules of this machine's kernel, or of an unpacked one.
bare_rt() {
	local release
	if release=$(rt_release) && [ -r "/boot/vmlinuz-$release" ]; then
		echo "/boot/vmlinuz-$release /lib/modules/$release"
	else
		"$top/scripts/stock.sh" rt
	fi
}

prepare_rt() {
	local release
	if [ -n "$bare" ]; then
		read -r image modules < <(bare_rt)
		return
	fi
	release=$(rt_release) || return
	image=/boot/vmlinuz-$release modules=/lib/modules/$release
	module "$release" "$modules/build"
}

prepare_newest() {
	local where=$built
	[ -z "$bare" ] || where=--unpack
	read -r image modules < <("$top/scripts/newest.sh" "$where")
	[ -n "$modules" ]
}

prepare_debug() {
	local dir
	dir=$("$top/scripts/kernel.sh" debug) && module debug "$dir" || return
	image=$dir/arch/x86/boot/bzImage modules=
	more='--mem 4G --append panic_on_warn=1' steps=2000 flips=1000000
}

# Two CPUs must run at the same time, or KCSAN sees no race.
prepare_kcsan() {
	local dir
	dir=$("$top/scripts/kernel.sh" kcsan) && module kcsan "$dir" || return
	image=$dir/arch/x86/boot/bzImage modules=
	more='--mem 4G --parallel' steps=4000
}

# usage: complains FLAG STEPS COMPLAINT OPTION...
complains() {
	local flag=$1 steps=$2 complaint=$3
	shift 3
	! "$here/vm/run.sh" "$@" -- "$here/torture/broken.sh" "$flag" "$steps" > "$last" 2>&1 &&
		grep -q "$complaint" "$last"
}

# Shows that the kernel does detect such errors: with the protection disabled it
# complains, in one of several boots, because it sees only some races.
finds() {
	local try
	for try in 1 2 3 4 5 6 7 8; do
		if complains "$@"; then
			printf 'ok - caught: %s (boot %d)\n1 passed, 0 failed, 0 skipped\n' "$3" "$try"
			return
		fi
	done
	cat "$last"
	fail "missed: $3"
}

test_on() {
	local options
	options="--kernel $image ${modules:+--modules $modules} $more"
	export EPF_KO=$built/kmod/epochfilter.ko EPF_TIMEOUT=$seconds
	export EPF_TORTURE_DIR=$built/torture EPF_TORTURE_STEPS=$steps EPF_FLIPS=$flips
	if [ -n "$together" ]; then
		# shellcheck disable=SC2086 # a list of options
		"$here/vm/run.sh" $options --timeout $((4 * seconds)) \
			${EPF_VM_OPTIONS:-} -- "$here/runner.sh" "${programs[@]}" || broken=$?
		return
	fi
	[ -z "$whole" ] || EPF_VM_OPTIONS="$options --timeout $((4 * seconds))" \
		suite "$1" "$here/module/run.sh"
	[ "${#programs[@]}" -eq 0 ] || EPF_VM_OPTIONS=$options \
		suite "$1" "$here/runner.sh" "${programs[@]/#/vm:}"
	[ -z "$whole" ] || EPF_VM_OPTIONS="$options --smp 4" \
		suite "$1" "$here/runner.sh" "vm:$here/torture/torture.sh"
	# shellcheck disable=SC2086 # a list of options
	case $whole$1 in
	1debug) finds 64 200 'kmemleak: [1-9][0-9]* new suspected' $options ;;
	1kcsan) finds 2 8000 'KCSAN: data-race in .*epochfilter' $options ;;
	esac
}

# Is the kernel available, or can it be fetched? If not, prints a skip.
available() {
	local why='cannot be had from here'
	case $1$bare in
	newest*)
		if [ "$(id -u)" -eq 0 ]; then
			"$top/scripts/newest.sh" --unpack
		else
			why='needs root to unpack it'
			false
		fi
		;;
	oldest) why='its headers give no module BTF'; false ;;
	oldest1) "$top/scripts/stock.sh" oldest ;;
	rt1) bare_rt ;;
	esac > /dev/null && return
	skip "$1" "$why"
	return 1
}

for kernel in "$@"; do
	image='' modules='' more='' seconds=1800 steps=20000 flips=100000
	built=$state/for-$kernel
	echo "# kernel: $kernel"
	declare -F "prepare_$kernel" > /dev/null || { usage >&2; exit 2; }
	available "$kernel" || continue
	if "prepare_$kernel"; then
		test_on "$kernel"
	else
		fail "$kernel: cannot be prepared"
	fi
done
exit "$broken"
