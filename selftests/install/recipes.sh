#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packages for Fedora and Arch, built on Debian without what they depend on there: together they
# have the files of "make install install-module" and no others, divided as Debian's packages are. rpm and pacman
# install, upgrade and remove them, first in an empty root, then with their scripts in a root
# of this machine's files (recipes_root.sh). Nothing of this machine changes.
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
[ -n "${EPF_THOROUGH:-}" ] || ktap_skip_all 'with EPF_THOROUGH only'
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
if [ -z "${EPF_NAMESPACE:-}" ]; then
	EPF_NAMESPACE=1 exec unshare --mount --propagation private "$0"
fi
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf --one-file-system "$tmp"
chmod 755 "$tmp"
version=$(cat "$top/VERSION")
. "$top/selftests/install/recipes_root.sh"

# Manual pages are packed by both; licences and documents are not installed by make. A tree that
# nvcc has built has the engine for GPUs, too.
plain() {
	sed -E 's|^(\./)?/?|/|; s|(/man/.*)\.gz$|\1|' |
		grep -vE '/$|^/usr/share/(doc|licenses|lintian)/|^/\.[A-Z]|/libepf_cuda|\.cuh?$' | LC_ALL=C sort
}

# The same of all distributions: where libraries are, units and Python's packages.
level() {
	plain | sed -E 's|^/lib/|/usr/lib/|; s|^/usr/lib(64\|/[^/]+-linux-gnu)/|/usr/lib/|
		s|^/usr/lib/python3[^/]*/[^/]+-packages/|/python/|' | LC_ALL=C sort
}

# usage: wanted VARIABLE=VALUE...: what "make install install-module" lays out, and what packages add
wanted() {
	rm -rf "$tmp/dest" && make -s -C "$top" install install-module install-python NVCC=none PREFIX=/usr DESTDIR="$tmp/dest" \
		SRCDIR="/usr/src/epochfilter-$version" UDEVDIR=/usr/lib/udev/rules.d "$@" > /dev/null || return
	{ echo /etc/epochfilter/agent.conf && cd "$tmp/dest" && find . ! -type d; } | plain
}

# usage: rpm_files PACKAGE
rpm_files() {
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$tmp/rpm/RPMS"/*/"$1-$version"-*.rpm | sed -n 's/^[^d][^ ]* //p'
}

# usage: arch_files PACKAGE
arch_files() {
	tar -tf "$tmp/arch/$1-$version"-*.pkg.tar*
}

# usage: debian_files PACKAGE...
debian_files() {
	local package
	for package in "$@"; do
		dpkg-deb --fsys-tarfile "$debs/$package"_*.deb | tar -t
	done
}

# usage: all KIND: of all its packages; their names are in the table KIND_names.
all() {
	local package
	while read -r package _; do
		"$1_files" "$package"
	done <<< "$2" | plain
}

# A package, and those of Debian that have its files. epfmpi is in neither: people have an MPI of their own.
rpm_names='epochfilter epochfilter
epochfilter-dkms epochfilter-dkms
epochfilter-wiretap epochfilter-wiretap
libepf libepf1
libepf-devel libepf-dev
python3-epf python3-epf'
arch_names='epochfilter epochfilter
epochfilter-dkms epochfilter-dkms
epochfilter-wiretap epochfilter-wiretap
libepf libepf1 libepf-dev
python-epf python3-epf'

# usage: compare KIND NAMES
compare() {
	if command -v mmdebstrap > /dev/null; then
		ktap_check "$parts" divided "$1" "$2"
	else
		ktap_skip "$parts" 'no mmdebstrap'
	fi
}

# usage: divided KIND NAMES
divided() {
	local package theirs
	debs=$("$top/selftests/install/packages.py" --build | tail -n 1) && [ -d "$debs" ] || return
	while read -r package theirs; do
		# shellcheck disable=SC2086 # names
		diff <("$1_files" "$package" | level) <(debian_files $theirs | level) || return
	done <<< "$2"
}

libdir=$(rpm --eval '%{_libdir}' 2> /dev/null)
python=$(rpm --eval '%{!?python3_sitelib: /usr/lib/python3/site-packages}%{?python3_sitelib}' 2> /dev/null)

# usage: build_arch DIRECTORY: makepkg refuses to run as root
build_arch() {
	chmod 777 "$tmp" && GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
		setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$tmp" "$top/scripts/recipe.sh" arch "$1" --nodeps
}

# usage: skip REASON NAME...
skip() {
	local why=$1 name
	shift
	for name in "$@"; do
		ktap_skip "$name" "$why"
	done
}

files='they have the files of make install, and a configuration'
parts='each has the files of that package of Debian'
empty='they install in an empty root, where nothing differs from the package, and leave nothing there'
scripts_rpm='their scripts make the group and the modules, which DKMS signs, and enable nothing'
upgrade_rpm='an upgrade replaces the modules, keeps an edited configuration, and what is enabled'
removal_rpm='a removal leaves no module and no link to a unit'
scripts_arch='their scripts make the group, and enable nothing'
upgrade_arch='an upgrade keeps an edited configuration'
ktap_plan 13
if command -v rpmbuild > /dev/null; then
	ktap_check 'rpmbuild builds the packages' "$top/scripts/recipe.sh" rpm "$tmp/rpm" --nodeps
	ktap_is "$files" "$(all rpm "$rpm_names")" \
		"$(wanted SOLIBDIR="$libdir" XTLIBDIR="$libdir/xtables" UNITDIR=/usr/lib/systemd/system PYTHONDIR="${python# }")"
	compare rpm "$rpm_names"
	ktap_check "$empty" rpm_empty
	ktap_check "$scripts_rpm" rpm_scripts
	ktap_check "$upgrade_rpm" rpm_upgrade
	ktap_check "$removal_rpm" rpm_removal
else
	skip 'no rpmbuild: apt install rpm' 'rpmbuild builds the packages' "$files" "$parts" "$empty" \
		"$scripts_rpm" "$upgrade_rpm" "$removal_rpm"
fi
if command -v makepkg > /dev/null; then
	ktap_check 'makepkg builds the packages' build_arch "$tmp/arch"
	python=/usr/lib/python$(/usr/bin/python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')/site-packages
	ktap_is "$files" "$(all arch "$arch_names")" "$(wanted XTLIBDIR=/usr/lib/xtables PYTHONDIR="$python")"
	compare arch "$arch_names"
else
	skip 'no makepkg: apt install makepkg libarchive-tools' 'makepkg builds the packages' "$files" "$parts"
fi
if command -v makepkg > /dev/null && command -v pacman > /dev/null; then
	ktap_check "$empty" pacman_empty
	ktap_check "$scripts_arch" pacman_scripts
	ktap_check "$upgrade_arch" pacman_upgrade
else
	skip 'no pacman: apt install pacman-package-manager' "$empty" "$scripts_arch" "$upgrade_arch"
fi
ktap_finish
