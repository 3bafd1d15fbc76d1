#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: root.sh SUITE [bare]
#	root.sh --tree ROOT	puts this tree into his home once more
#	root.sh --before ROOT | --after ROOT	what mmdebstrap calls in between
#
# A machine as a newcomer has it: Debian SUITE with a stock 6.12 kernel and its
# headers, make, sudo and an ordinary user, and in his home this tree, with
# README's first line ("make deps") run, unless it is to be bare. Prints its root
# directory, below build/install. Guarantees:
#  - nothing outside build/ changes, and nothing below it is a mount of this machine's
#    own /proc, /sys or /dev that a kill could leave there;
#  - a root is complete or is made again; so is one whose packages have changed.
# Needs root and Debian's archive.

set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
state=$top/build/install
home=/home/user/epochfilter

die() {
	echo "root: $*" >&2
	exit 1
}

# usage: put_tree ROOT
put_tree() {
	rm -rf "${1:?}$home"
	mkdir -p "$1$home" &&
		(cd "$top" && git ls-files -z --cached --others --exclude-standard |
			tar -c --null --ignore-failed-read -T -) | tar -x -C "$1$home" --no-same-owner &&
		chroot "$1" chown -R user: /home/user
}

# The kernel's package would make an initramfs that nobody boots (INITRD=No). Drivers of
# devices that the guest does not have are left out: "make install-module" reads all modules.
before_packages() {
	mkdir -p "$1/etc/dpkg/dpkg.cfg.d" &&
		printf '%s\n' force-confold force-unsafe-io 'path-exclude=*/kernel/sound/*' \
			'path-exclude=*/kernel/drivers/*' \
			'path-include=*/kernel/drivers/virtio/*' \
			'path-include=*/kernel/drivers/char/*' \
			'path-include=*/kernel/drivers/net/tun.ko*' 'path-include=*/kernel/drivers/net/veth.ko*' > "$1/etc/dpkg/dpkg.cfg.d/epf"
}

# With the network there: the stock kernel, then README's own line.
after_packages() {
	local kernel inside=(chroot "$1" env -C "$home" DEBIAN_FRONTEND=noninteractive INITRD=No)
	chroot "$1" useradd -m -s /bin/bash user &&
		echo 'user ALL=(ALL) NOPASSWD: ALL' > "$1/etc/sudoers.d/user" &&
		put_tree "$1" &&
		kernel=$("${inside[@]}" scripts/deps.sh --kernel) &&
		"${inside[@]}" apt-get -q -y install --no-install-recommends \
			-o APT::Sandbox::User=root "linux-image-$kernel" "linux-headers-$kernel" &&
		{ [ -n "${EPF_BARE:-}" ] || "${inside[@]}" make deps FOR=build; }
}

# What the root depends on beyond this file.
stamp() {
	cat "$here/root.sh" "$top/scripts/deps.sh" | cksum
}

make_root() {
	command -v mmdebstrap > /dev/null || die 'mmdebstrap is missing: make deps'
	rm -rf "$root"
	mkdir -p "$state"
	unshare --mount --propagation private \
		mmdebstrap --variant=minbase --mode=root --skip=cleanup/apt/lists \
		--aptopt='APT::Sandbox::User "root"' --include=make,sudo \
		--essential-hook="'$here/root.sh' --before \"\$1\"" \
		--customize-hook="'$here/root.sh' --after \"\$1\"" \
		"$suite" "$root" > "$root.log" 2>&1 && stamp > "$root/epf-complete"
}

case ${1:-} in
--before) before_packages "$2"; exit ;;
--after) after_packages "$2"; exit ;;
--tree) put_tree "$2"; exit ;;
'' | -*) die 'usage: root.sh SUITE' ;;
esac
suite=$1 root=$state/$1${2:+-$2} EPF_BARE=${2:-}
export EPF_BARE
[ "$(cat "$root/epf-complete" 2> /dev/null)" = "$(stamp)" ] || make_root || {
	tail -n 20 "$root.log" >&2
	die "cannot make a root of $suite: see $root.log"
}
[ -n "$EPF_BARE" ] || put_tree "$root" || die 'cannot copy the tree'
echo "$root"
