#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packages for Fedora and Arch, built on Debian without what they depend on there: together they
# have the files of "make install" and no others. Nothing is installed.
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
[ -n "${EPF_THOROUGH:-}" ] || ktap_skip_all 'with EPF_THOROUGH only'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
chmod 755 "$tmp"
version=$(cat "$top/VERSION")

# Manual pages are packed by both; licences and documents are not installed by make. A tree that
# nvcc has built has the engine for GPUs, too.
plain() {
	sed -E 's|^/?|/|; s|(/man/.*)\.gz$|\1|' |
		grep -vE '/$|^/usr/share/(doc|licenses)/|^/\.[A-Z]|/libepf_cuda' | LC_ALL=C sort
}

# usage: wanted VARIABLE=VALUE...: what "make install" lays out
wanted() {
	rm -rf "$tmp/dest" && make -s -C "$top" install install-python NVCC=none PREFIX=/usr DESTDIR="$tmp/dest" \
		SRCDIR="/usr/src/epochfilter-$version" UDEVDIR=/usr/lib/udev/rules.d "$@" > /dev/null || return
	(cd "$tmp/dest" && find . ! -type d | sed 's|^\.||') | plain
}

rpms() {
	local package
	for package in "$tmp"/rpm/RPMS/*/*.rpm; do
		rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$package" | sed -n 's/^[^d][^ ]* //p'
	done | plain
}

libdir=$(rpm --eval '%{_libdir}' 2> /dev/null)
python=$(rpm --eval '%{!?python3_sitelib: /usr/lib/python3/site-packages}%{?python3_sitelib}' 2> /dev/null)

# usage: arch DIRECTORY: makepkg refuses to run as root
arch() {
	local as=()
	[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$tmp")
	chmod 777 "$tmp" && GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
		"${as[@]}" "$top/scripts/recipe.sh" arch "$1" --nodeps
}

archs() {
	local package
	for package in "$tmp"/arch/*.pkg.tar*; do
		tar -tf "$package"
	done | plain
}

ktap_plan 4
if command -v rpmbuild > /dev/null; then
	ktap_check 'rpmbuild builds the packages' "$top/scripts/recipe.sh" rpm "$tmp/rpm" --nodeps
	ktap_is 'they have the files of make install' "$(rpms)" \
		"$(wanted SOLIBDIR="$libdir" XTLIBDIR="$libdir/xtables" UNITDIR=/usr/lib/systemd/system PYTHONDIR="${python# }")"
else
	ktap_skip 'rpmbuild builds the packages' 'no rpmbuild: apt install rpm'
	ktap_skip 'they have the files of make install' 'no rpmbuild'
fi
if command -v makepkg > /dev/null; then
	ktap_check 'makepkg builds the packages' arch "$tmp/arch"
	python=/usr/lib/python$(/usr/bin/python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')/site-packages
	ktap_is 'they have the files of make install' "$(archs)" \
		"$(wanted XTLIBDIR=/usr/lib/xtables PYTHONDIR="$python")"
else
	ktap_skip 'makepkg builds the packages' 'no makepkg: apt install makepkg libarchive-tools'
	ktap_skip 'they have the files of make install' 'no makepkg'
fi
ktap_finish
