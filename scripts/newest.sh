#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The newest kernel that Debian has, whatever this machine runs. Unpacks its image,
# headers and compiler from the suite 'sid' into build/kernels/newest, and builds
# the modules there. Guarantees:
#  - nothing outside build/ changes, and programs of the suite run only to build
#    the module;
#  - the root is complete, or is made again.
#
# Exit: 0 the kernel is available, 1 it cannot be had, 2 usage.

set -u -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
suite=sid
root=$top/build/kernels/newest
log=$root.log
# pahole generates the module's BTF, base-files has the links from /lib to /usr/lib;
# the rest is called by the build's recipes.
packages=linux-image-amd64,linux-headers-amd64,gcc,make,pahole,base-files,mawk
packages+=,dash,coreutils,grep,sed,findutils,diffutils,binutils

usage() {
	cat <<'USAGE'
usage: scripts/newest.sh [--fetch] DIRECTORY
       scripts/newest.sh --unpack

  Builds the module in DIRECTORY/kmod and with its torture in
  DIRECTORY/torture (below the repository), and prints the image and the
  modules' directory to boot with it. EPF_TORTURE_KINDS=plain: without the
  torture from which protections can be taken; none: without a torture. --fetch replaces a root that is there
  by what the suite has now. Needs root. --unpack builds nothing.
USAGE
}

die() {
	echo "newest: $*" >&2
	exit 1
}

fetch=
[ "${1:-}" != --fetch ] || { fetch=1; shift; }
case ${1:-} in
-h | --help) usage; exit 0 ;;
--unpack) ;;
'' | -*) usage >&2; exit 2 ;;
esac
built=$top/build
[ "$1" = --unpack ] || built=$(realpath -m "$1")
[[ $built = "$top"/* ]] || die "$built is not below $top"
[ "$(id -u)" -eq 0 ] || die 'unpacking and building in another root need root'

# The validity period in the suite's release file may have expired, so it is not checked.
unpack() {
	command -v mmdebstrap >/dev/null || die 'mmdebstrap is missing: scripts/deps.sh debug'
	echo "newest: unpacking the kernel of $suite" >&2
	rm -rf "$root"
	mkdir -p "$root"
	mmdebstrap --variant=extract --mode=root --architectures=amd64 \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Sandbox::User "root"' \
		--include="$packages" "$suite" "$root" > "$log" 2>&1 || return
	ln -sf mawk "$root/usr/bin/awk"
	touch "$root/epf-complete"
}

if [ -n "$fetch" ] || ! [ -e "$root/epf-complete" ]; then
	unpack || die "cannot unpack $suite; see $log"
fi
release=$(cd "$root/lib/modules" && printf '%s\n' * | sort -V | tail -n 1)
modules=$root/lib/modules/$release
[ -e "$modules/modules.dep" ] || "$top/scripts/guest_modules.sh" "$root" "$release" || exit 1
if [ "$1" = --unpack ]; then
	echo "$modules/vmlinuz $modules"
	exit
fi

# The tree appears at its own path inside the root, for this build only.
build() {
	mkdir -p "$root$top" "$root/proc" "$root/dev" &&
		mount --bind "$top" "$root$top" && mount -t proc proc "$root/proc" &&
		mount --bind /dev "$root/dev" || return
	local inside=(chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin TMPDIR=/tmp)
	"${inside[@]}" make -s -C "$top/kmod" KREL="$release" KOUT="$built/kmod" || return
	[ "${EPF_TORTURE_KINDS:-}" = none ] ||
		"${inside[@]}" make -s -C "$top/selftests/torture" KREL="$release" KMOD="$built/kmod" \
			OUT="$built/torture" ${EPF_TORTURE_KINDS:+KINDS="$EPF_TORTURE_KINDS"}
}
export -f build
export root top release built
unshare --mount --propagation private bash -c build >&2 ||
	die "the module does not build for $release"
echo "$modules/vmlinuz $modules"
