#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: arch.sh arm64|s390x [build|quick|native|packages|guest|SUITE/NAME]...
#
# Tests on another architecture, all of it cross-built in build/arch/ARCH:
#
#   build   builds, and installs what that needs (scripts/deps.sh, scripts/cross.sh)
#   quick   known answers, layouts and laws of the core, as programs that QEMU runs
#   packages  arm64: Debian packages, cross-built and unpacked
#   native  quick, and the other suites that need no kernel of that architecture
#   SUITE/NAME  one test that is built, such as lib/files or cli/merge.sh
#   guest   arm64: the module, its device, BPF and XDP in a guest with a stock kernel
#   vm:SUITE/NAME  one test of those, in a guest
#
# Without a second argument: build, native, and for arm64 packages and guest. The kernel runs
# programs of the other architecture by an entry of binfmt_misc that exists in a user
# namespace only (Linux 6.7). There, and in the guest, build/arch/ARCH is mounted in place
# of build/, so that tests use their usual paths.

set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=${here%/*}

usage() {
	sed -n '4,20s/^# \{0,1\}//p' "$0"
	exit "$1"
}

arch=${1:-}
case $arch in
arm64) gnu=aarch64-linux-gnu qemu=qemu-aarch64 ;;
s390x) gnu=s390x-linux-gnu qemu=qemu-s390x ;;
-h | --help) usage 0 ;;
*) usage 2 >&2 ;;
esac
shift
out=$top/build/arch/$arch
root=$out/root

# usage: cross_make DIRECTORY TARGET...
cross_make() {
	PKG_CONFIG_SYSROOT_DIR=$root \
		PKG_CONFIG_LIBDIR=$root/usr/lib/$gnu/pkgconfig:$root/usr/share/pkgconfig \
		make --no-print-directory -j "$(nproc)" -C "$@" BUILD="$out" \
		CC="$gnu-gcc --sysroot=$root" AR="$gnu-ar" CXX=none NVCC=none
}

# usage: programs SUITE: the built programs but those that other compilers make, that need
# BPF, or whose sanitizers do not work under emulation
programs() {
	cross_make "$top/selftests/$1" -s list | grep "^$out/" |
		grep -v -e _sanitized -e _tsan -e _bpf -e kat_clang -e kat_cxx -e 'lib/kernel$'
}

# usage: built SUITE PROGRAM...
built() {
	local suite=$1
	shift
	cross_make "$top/selftests/$suite" "${@/#/$out/selftests/$suite/}" || exit
}

# usage: suite SUITE: builds its programs
suite() {
	local list
	mapfile -t list < <(programs "$1" | sed 's|.*/||')
	built "$1" "${list[@]}"
}

quick() {
	printf "$top/build/selftests/core/%s\n" kat_cc kat_private abi params opts bounds told
}

suites=(core audit lib cluster)

native() {
	for suite in "${suites[@]}"; do
		programs "$suite" | sed "s|^$out/|$top/build/|"
	done
	printf "$here/%s\n" cli/cli.sh cli/audit.sh cli/merge.sh records/text.py records/packed.py records/flows.py \
		dedup/test_exact.py dedup/test_formats.py dedup/test_laws.py
}

build() {
	"$top/scripts/deps.sh" cross build && "$top/scripts/cross.sh" "$arch" > /dev/null || exit
	cross_make "$top/user" || exit
	built records readrec readrec_bare mkipfix
	# Files to read are made by programs of this machine.
	make --no-print-directory -C "$top/selftests/cli" BUILD="$out" || exit
	[ "$arch" != arm64 ] || build_guest
	for suite in "${suites[@]}"; do
		suite "$suite"
	done
}

# The module, and what the tests in the guest need.
build_guest() {
	built module hold kat params batch lockstep kinds snapshot mapping
	built ebpf load own.bpf.o reflex_other.bpf.o
	cross_make "$top/selftests/xdp" || exit
	build_module
}

build_module() {
	local headers
	headers=$(echo "$root"/usr/src/linux-headers-*-arm64)
	for part in kmod selftests/torture; do
		make --no-print-directory -C "$top/$part" ARCH=arm64 CROSS_COMPILE="$gnu-" BUILD="$out" \
			KOUT="$out/kmod" KMOD="$out/kmod" OUT="$out/selftests/torture" KINDS=plain \
			KREL="${headers##*headers-}" KDIR="$headers" > "$out/${part##*/}.log" 2>&1 || {
			tail -n 20 "$out/${part##*/}.log" >&2
			exit 1
		}
	done
}

# usage: emulated PROGRAM...: runs them in the namespace. QEMU looks up each path below
# QEMU_LD_PREFIX first, where therefore only libraries may be: a /tmp there would take
# some files of a test and leave others here.
emulated() {
	local entry
	entry=$(sed 's|:[^:]*:[A-Z]*$||' "/usr/lib/binfmt.d/$qemu.conf"):/usr/bin/$qemu-static:F
	mkdir -p "$out/data" "$top/build/data" "$out/libs/usr"
	ln -sfn ../root/lib "$out/libs/lib"
	ln -sfn ../../root/usr/lib "$out/libs/usr/lib"
	unshare --map-root-user --mount bash -c '
		mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
			printf %s "$1" > /proc/sys/fs/binfmt_misc/register || {
			echo "1..0 # SKIP this kernel has no binfmt_misc in user namespaces"
			exit 4
		}
		mount --bind "$2/build/data" "$3/data" && mount --bind "$3" "$2/build" || exit
		shift 3
		exec "$@"' - "$entry" "$top" "$out" \
		env EPF_ARCH="$arch" EPF_QEMU="$qemu" EPF_CC="$gnu-gcc" QEMU_LD_PREFIX="$top/build/libs" LD_LIBRARY_PATH="$top/build/user" "$here/runner.sh" -j "$(nproc)" "$@"
}

# The stress test in one form only, and with few steps: one takes a hundred times as long as on
# a CPU of its own.
guest() {
	local -x EPF_TORTURE_STEPS=5000
	mkdir -p "$out/data" && cp -u "$top"/build/data/*.pcap "$out/data/"
	"$here/vm/run.sh" --arch "$arch" --root "$root" --build "$out" --timeout 7200 -- "$here/runner.sh" -t 1800 "$@"
}

in_guest=(module/load.sh module/params module/batch module/lockstep module/kinds module/snapshot module/mapping
	ebpf/load.sh ebpf/attach.py xdp/attach.py xdp/traffic.py torture/torture.sh)

# usage: path SUITE/NAME
path() {
	case $1 in
	*.*) echo "$here/$1" ;;
	*) echo "$top/build/selftests/$1" ;;
	esac
}

status=0
if [ $# -eq 0 ]; then
	set -- build native
	[ "$arch" != arm64 ] || set -- "$@" packages guest
fi
for part in "$@"; do
	case $part in
	build) build ;;
	quick | native)
		mapfile -t list < <("$part")
		emulated "${list[@]}" || status=1
		;;
	packages)
		"$top/scripts/deb_cross.sh" "$arch" "$out/deb" > /dev/null && emulated "$here/install/foreign.py" || status=1
		;;
	guest)
		mapfile -t list < <(for name in "${in_guest[@]}"; do path "$name"; done)
		guest "${list[@]}" || status=1
		;;
	vm:*/*) guest "$(path "${part#vm:}")" || status=1 ;;
	*/*) emulated "$(path "$part")" || status=1 ;;
	*) usage 2 >&2 ;;
	esac
done
exit "$status"
