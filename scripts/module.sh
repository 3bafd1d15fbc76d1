#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: module.sh install|uninstall DESTDIR SRCDIR UDEVDIR VERSION
#
# Installs the module's source for DKMS, and the udev rule. With an empty DESTDIR it
# also installs the module: DKMS builds it for the running kernel and every later
# one; without DKMS the module that 'make' built is installed for the running kernel
# only. It creates the group that may open the device, and reloads udev. Guarantee:
# after exit 0 'modprobe epochfilter' finds the module; any failure is one line with
# the command that mends it, and exit 1.

set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

verb=$1 dest=$2 src=$3 udev=$4 version=$5
name=epochfilter/$version
release=$(uname -r)
modules=/lib/modules/$release
built=build/kmod/epochfilter.ko
plain=updates/epochfilter.ko
# The module loads this one with the first filter of a kind other than lanes.
built_kinds=build/kmod/epochfilter_kinds.ko
plain_kinds=updates/epochfilter_kinds.ko
# The iptables match exists only if the kernel has xtables.
built_xt=build/kmod/xt_epf.ko
plain_xt=updates/xt_epf.ko

say() {
	echo "module: $*"
}

die() {
	say "$*" >&2
	exit 1
}

lay_out() {
	mkdir -p "$dest$src" "$dest$udev"
	cp -r Kbuild VERSION kmod include "$dest$src/"
	sed "s/@VERSION@/$version/" packaging/dkms.conf.in > "$dest$src/dkms.conf"
	cp packaging/60-epochfilter.rules "$dest$udev/"
}

add_group() {
	getent group epochfilter > /dev/null || groupadd --system epochfilter
	if command -v udevadm > /dev/null; then
		udevadm control --reload 2> /dev/null || true
	fi
}

need_headers() {
	[ -e "$modules/build/Makefile" ] || die "kernel $release is running and its headers are not installed: \
apt install linux-headers-$release, then run 'make install-module' again"
}

install_by_dkms() {
	! dkms status "$name" | grep -q . || dkms remove "$name" --all > /dev/null
	# modprobe would have two modules to choose from.
	rm -f "$modules/$plain" "$modules/$plain_kinds" "$modules/$plain_xt"
	dkms add "$src" > /dev/null || die "dkms cannot add $src: see the lines above"
	dkms install "$name" -k "$release" ||
		die "dkms did not build the module for $release: read /var/lib/dkms/$name/build/make.log"
	say "DKMS builds it for $release and later kernels; load it with 'modprobe epochfilter'"
}

# Has 'make' built the module for the running kernel?
is_built() {
	[ -e "$built" ] && [ -e "$built_kinds" ] && [ "$(modinfo -F vermagic "$built" | cut -d ' ' -f 1)" = "$release" ]
}

install_plain() {
	is_built || make -s -C kmod KREL="$release" ||
		die "the module does not build for the running kernel $release: boot a kernel that the lines above allow"
	install -D -m 644 "$built" "$modules/$plain"
	install -D -m 644 "$built_kinds" "$modules/$plain_kinds"
	[ ! -e "$built_xt" ] || install -D -m 644 "$built_xt" "$modules/$plain_xt"
	depmod "$release"
	say "installed for kernel $release; load it with 'modprobe epochfilter'"
	say "dkms is not installed, so later kernels go without: 'apt install dkms' and 'make install-module' again"
}

activate() {
	add_group
	need_headers
	if command -v dkms > /dev/null; then
		install_by_dkms
	else
		install_plain
	fi
}

deactivate() {
	scripts/unload.sh
	if command -v dkms > /dev/null && dkms status "$name" | grep -q .; then
		dkms remove "$name" --all
	fi
	for file in /lib/modules/*/"$plain"; do
		[ -e "$file" ] || continue
		rm -f "$file" "${file%/*}/epochfilter_kinds.ko" "${file%/*}/xt_epf.ko"
		kernel=${file%"/$plain"}
		depmod "${kernel##*/}"
	done
	! getent group epochfilter > /dev/null || groupdel epochfilter
}

case $verb in
install)
	lay_out
	[ -n "$dest" ] || activate
	;;
uninstall)
	[ -n "$dest" ] || deactivate
	rm -rf "$dest$src" "$dest$udev/60-epochfilter.rules"
	;;
*)
	say "unknown verb '$verb'" >&2
	exit 2
	;;
esac
