#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: module.sh install|uninstall DESTDIR SRCDIR UDEVDIR VERSION
#
# Lays out the module's source for DKMS and the udev rule. With an empty
# DESTDIR it also has DKMS build the module for the running kernel and every
# later one, makes the group that may open the device, and reloads udev.

set -eu
cd "$(dirname "$0")/.."

verb=$1 dest=$2 src=$3 udev=$4 version=$5
name=epochfilter/$version

say() {
	echo "module: $*"
}

have_dkms() {
	command -v dkms > /dev/null || {
		say "dkms is not installed: the module is not built; install dkms, then run 'dkms install $name'"
		return 1
	}
}

lay_out() {
	mkdir -p "$dest$src" "$dest$udev"
	cp -r Kbuild kmod include "$dest$src/"
	sed "s/@VERSION@/$version/" packaging/dkms.conf.in > "$dest$src/dkms.conf"
	cp packaging/60-epochfilter.rules "$dest$udev/"
}

activate() {
	getent group epochfilter > /dev/null || groupadd --system epochfilter
	if command -v udevadm > /dev/null; then
		udevadm control --reload 2> /dev/null || true
	fi
	have_dkms || return 0
	dkms status "$name" | grep -q . && dkms remove "$name" --all > /dev/null
	dkms add "$src" > /dev/null
	release=$(uname -r)
	if [ -e "/lib/modules/$release/build" ]; then
		dkms install "$name"
		say "built for $release; load it with 'modprobe epochfilter'"
	else
		say "no headers of the running kernel $release: install them, then run 'dkms install $name'"
	fi
}

deactivate() {
	if lsmod 2> /dev/null | grep -q '^epochfilter '; then
		rmmod epochfilter || {
			say "the module is in use: detach programs and close filters first"
			exit 1
		}
	fi
	if command -v dkms > /dev/null && dkms status "$name" | grep -q .; then
		dkms remove "$name" --all
	fi
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
	say "unknown verb '$verb'"
	exit 2
	;;
esac
