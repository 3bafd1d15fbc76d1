#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's suites on other kernels than the one it is developed on, each
# with a module of its own, in virtual machines. Guarantees:
#  - each suite ends with "N passed, N failed, N skipped", alone; what went
#    wrong outside a test point (a complaint of the kernel, a leak, a module
#    that does not build) is a failed point of its own;
#  - exit status 0 means that nothing failed.

set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
state=$top/build/kernels

usage() {
	cat <<'USAGE'
usage: selftests/kernels.sh [--long | --only PROGRAM...] -- KERNEL...

  KERNEL   rt      Debian's real-time flavour of the stock kernel
           newest  the newest kernel that Debian has (scripts/newest.sh)
           debug   memory errors, locking, RCU, leaks (scripts/kernel.sh)
           kcsan   data races (scripts/kernel.sh)

  --long           also the suites that attach programs and send traffic
  --only           only these programs, in a guest for each
USAGE
}

quick=(xdp/verifier.sh xdp/parity.sh)
long=(xdp/attach.py xdp/traffic.py)
programs=("${quick[@]}") whole=1
case ${1:-} in
--long) programs+=("${long[@]}"); shift ;;
--only)
	shift
	programs=() whole=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		programs+=("$1")
		shift
	done
	;;
esac
[ "${1:-}" != -- ] || shift
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

# usage: module NAME RELEASE HEADERS; objects of an older build of the headers
# are of no use
module() {
	local kout=$state/kmod-$1
	ko=$kout/epochfilter.ko
	[ "$ko" -nt "$3" ] || rm -rf "$kout"
	make -s -C "$top/kmod" KREL="$2" KDIR="$3" KOUT="$kout" >&2
}

# Each sets image, modules, ko; more; seconds for one program.
prepare_rt() {
	local release
	release=$("$top/scripts/deps.sh" --kernel) || return
	release=${release%-amd64}-rt-amd64
	image=/boot/vmlinuz-$release modules=/lib/modules/$release
	module rt "$release" "$modules/build"
}

prepare_newest() {
	ko=$state/kmod-newest/epochfilter.ko
	read -r image modules < <("$top/scripts/newest.sh" "${ko%/*}")
	[ -n "$modules" ]
}

prepare_debug() {
	local dir
	dir=$("$top/scripts/kernel.sh" debug) && module debug debug "$dir" || return
	image=$dir/arch/x86/boot/bzImage modules=
	more='--mem 4G --append panic_on_warn=1' seconds=1800
}

# Two CPUs must run at once, or no race is seen.
prepare_kcsan() {
	local dir
	dir=$("$top/scripts/kernel.sh" kcsan) && module kcsan kcsan "$dir" || return
	image=$dir/arch/x86/boot/bzImage modules=
	more='--mem 4G --parallel' seconds=1800
}

test_on() {
	local options
	options="--kernel $image ${modules:+--modules $modules} $more"
	export EPF_KO=$ko EPF_TIMEOUT=$seconds
	if [ -n "$whole" ]; then
		EPF_VM_OPTIONS="$options --timeout $((4 * seconds))" \
			suite "$1" "$here/module/run.sh"
	fi
	[ "${#programs[@]}" -eq 0 ] ||
		EPF_VM_OPTIONS=$options suite "$1" "$here/runner.sh" \
			"${programs[@]/#/vm:$here/}"
}

for kernel in "$@"; do
	image='' modules='' ko='' more='' seconds=900
	echo "# kernel: $kernel"
	if [ "$kernel" = newest ] && [ "$(id -u)" -ne 0 ]; then
		skip "$kernel" 'needs root to unpack it'
	elif [ "$kernel" = newest ] && ! "$top/scripts/newest.sh" --unpack; then
		skip "$kernel" 'cannot be had from here'
	elif ! declare -F "prepare_$kernel" > /dev/null; then
		usage >&2
		exit 2
	elif "prepare_$kernel"; then
		test_on "$kernel"
	else
		fail "$kernel: cannot be prepared"
	fi
done
exit "$broken"
