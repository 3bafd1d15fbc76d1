#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: cross.sh arm64|s390x
#	cross.sh --kernel ROOT RELEASE	what mmdebstrap calls
#
# A root file system of Debian for another architecture: libraries to compile against
# and to run programs with; for arm64 also what a guest needs, and a stock kernel with its
# headers. Prints its path, below build/arch. Guarantees:
#  - packages are unpacked, not configured, so nothing of the other architecture runs here;
#    this machine's own dpkg learns of no other architecture;
#  - a root is complete or is made again, also if the lists below change;
#  - /proc and /sys are mounted in it only while mmdebstrap runs, and for mmdebstrap only.
# Needs root and Debian's archive.

set -u -o pipefail
export PATH=$PATH:/usr/sbin:/sbin
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
self=$top/scripts/cross.sh

libraries=$("$top/scripts/deps.sh" --print build | grep -e '-dev$' | paste -sd ,)
guest=bash,dash,busybox-static,coreutils,sed,grep,gawk,findutils,diffutils,util-linux,mount,procps,kmod,python3
guest+=,iproute2,ethtool,iputils-ping,bpftool,binutils,xdp-tools

die() {
	echo "cross: $*" >&2
	exit 1
}

# Drivers that the guest has no devices for are left out.
unpack_kernel() {
	local root=$1 package
	shift
	cd "$root/var/cache/apt/archives" || exit
	for package in "$@"; do
		APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -q download "$package" || exit
		dpkg-deb --fsys-tarfile "$package"_*.deb | tar -C "$root" -x --keep-directory-symlink \
			--wildcards --exclude='*/kernel/sound' --exclude='*/drivers/gpu' --exclude='*/drivers/media' \
			--exclude='*/net/wireless' --exclude='*/net/ethernet' --exclude='*/drivers/iio' \
			--exclude='*/drivers/usb' --exclude='*/drivers/infiniband' --exclude='*/drivers/scsi' || exit
		rm "$package"_*.deb
	done
}

# modprobe needs the lists of modules; depmod of any architecture makes them. The headers
# name tools that run on the machine that compiles: this machine's, of the same release.
finish_kernel() {
	local root=$1 release=$2 kbuild=/usr/lib/linux-kbuild-${2%-*}
	[ -d "$kbuild" ] && ln -sfn "$kbuild" "$root$kbuild" || exit
	depmod -b "$root" "$release" &&
		sed -i "s|/usr/src/|$root/usr/src/|" "$root/usr/src/linux-headers-$release/Makefile" || exit
}

# What the packages would make when they are configured.
configure_guest() {
	ln -sfn gawk "$1/usr/bin/awk"
	echo 'root:x:0:0:root:/root:/bin/bash' > "$1/etc/passwd"
	echo 'root:x:0:' > "$1/etc/group"
}

if [ "${1:-}" = --kernel ]; then
	unpack_kernel "$2" "linux-image-$3" "linux-headers-$3" "linux-headers-${3%-*}-common"
	finish_kernel "$2" "$3"
	configure_guest "$2"
	exit
fi

arch=${1:-} packages=$libraries hook=()
case $arch in
arm64)
	release=$("$top/scripts/deps.sh" --kernel) || exit
	packages+=,$guest
	hook=(--extract-hook="'$self' --kernel \"\$1\" '${release%-amd64}-arm64'")
	;;
s390x) ;;
*) die 'usage: cross.sh arm64|s390x' ;;
esac
root=$top/build/arch/$arch/root
stamp=$(cat "$self"; echo "$packages ${hook[*]}")
[ "$(cat "$root/epf-complete" 2> /dev/null)" != "$stamp" ] || { echo "$root"; exit; }

# Of the same suite as this machine, whose kernel headers and tools it shares.
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
rm -rf --one-file-system "$root"
mkdir -p "${root%/root}"
unshare --mount mmdebstrap --arch="$arch" --variant=extract --mode=root --skip=check/qemu,cleanup/apt/lists \
	--aptopt='APT::Sandbox::User "root"' --include="$packages" "${hook[@]}" \
	"$suite" "$root" > "$root.log" 2>&1 && echo "$stamp" > "$root/epf-complete" || {
	tail -n 20 "$root.log" >&2
	die "cannot make a root of $arch: see $root.log"
}
echo "$root"
