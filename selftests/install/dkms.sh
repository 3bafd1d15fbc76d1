#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A real "make install-module" of the modules by DKMS, for the kernel of deps.sh, and its
# removal. It runs in a mount namespace with an overlay, so the machine's own files stay
# unchanged.
# shellcheck disable=SC2317 # functions that ktap_check calls

here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
PATH=$PATH:/usr/sbin:/sbin
whole=${EPF_THOROUGH:-}
{ command -v dkms > /dev/null && [ "$(id -u)" -eq 0 ]; } || whole=
if [ -n "$whole" ] && [ -z "${EPF_DKMS:-}" ]; then
	EPF_DKMS=$(mktemp -d) || exit 1
	export EPF_DKMS
	unshare --mount --propagation private "$0"
	status=$?
	rmdir "$EPF_DKMS"
	exit $status
fi
tmp=${EPF_DKMS:-}
. "$here/../ktap.sh"
version=$(cat "$top/VERSION")
source=/usr/src/epochfilter-$version
covered='/usr/src /usr/lib/modules /var/lib /etc'
release=$("$top/scripts/deps.sh" --kernel 2> /dev/null)
headers=/lib/modules/$release/build
[ -n "$release" ] && [ -e "$headers/Makefile" ] || ktap_skip_all 'no headers: make deps'

# usage: named HEADERS: prints the modules of dkms.conf, and their directory
named() {
	local -a BUILT_MODULE_NAME=() BUILT_MODULE_LOCATION=()
	# shellcheck disable=SC2034 # read by dkms.conf
	local kernel_source_dir=$1 kernelver=none
	# shellcheck disable=SC1091
	. "$top/packaging/dkms.conf.in"
	for i in "${!BUILT_MODULE_NAME[@]}"; do
		echo "${BUILT_MODULE_LOCATION[$i]}/${BUILT_MODULE_NAME[$i]}.ko"
	done
}

# Prints the modules that Kbuild makes if the kernel has everything they need.
made() {
	sed -n 's!^obj-.*= *\([a-z_]*\)\.o$!build/kmod/\1.ko!p' "$top/Kbuild"
}

# usage: cover DIRECTORY...: keeps everything written from now on in $tmp/upper
cover() {
	local dir
	mount -t tmpfs tmpfs "$tmp" || return
	for dir in "$@"; do
		mkdir -p "$tmp/upper$dir" "$tmp/work$dir" && mount -t overlay -o \
			"lowerdir=$dir,upperdir=$tmp/upper$dir,workdir=$tmp/work$dir" \
			overlay "$dir" || return
	done
}

# Pretends that the kernel of the headers is running: only "uname -r" is asked.
pretend() {
	mkdir "$tmp/bin" && cat > "$tmp/bin/uname" <<-EOF && chmod +x "$tmp/bin/uname"
		#!/bin/sh
		[ "\$*" != -r ] || exec echo $release
		exec $(command -v uname) "\$@"
	EOF
	PATH=$tmp/bin:$PATH
}

module() { # usage: module install|uninstall
	"$top/scripts/module.sh" "$1" '' "$source" "$tmp/udev" "$version"
}

installed() {
	dkms status "epochfilter/$version" -k "$release" | grep -q ': installed$' &&
		for name in epochfilter epochfilter_kinds xt_epf; do
			modinfo -k "$release" -n "$name" | grep "/updates/dkms/$name.ko" || return
		done
}

# Does modprobe find the modules that iptables asks for?
found_by_alias() {
	modprobe -S "$release" --show-depends ipt_epf > "$tmp/loads" && cat "$tmp/loads" &&
		grep -q '/x_tables\.ko' "$tmp/loads" && grep -q '/epochfilter\.ko' "$tmp/loads"
}

# Does modprobe find the module that epochfilter asks for?
kinds_found() {
	modprobe -S "$release" --show-depends epochfilter-kinds > "$tmp/loads" && cat "$tmp/loads" &&
		grep -q '/epochfilter_kinds\.ko' "$tmp/loads" && grep -q '/epochfilter\.ko' "$tmp/loads"
}

# Nothing is left except files that depmod, DKMS and groupadd keep for themselves.
nothing_left() {
	local left
	left=$(cd "$tmp" && find upper udev ! -type d ! -name 'modules.*' \
		! -path '*/var/lib/dkms/mok.*' ! -path '*/etc/g*' ! -path '*/etc/.pwd.lock')
	echo "$left"
	[ -z "$left" ] && [ ! -e "/var/lib/dkms/epochfilter" ] && ! getent group epochfilter &&
		! modinfo -k "$release" -n xt_epf && ! modinfo -k "$release" -n epochfilter &&
		! modinfo -k "$release" -n epochfilter_kinds
}

# Runs within the mount namespace.
cycle() {
	# shellcheck disable=SC2086 # a list
	cover $covered && pretend || ktap_skip_all 'no overlay over /usr, /var and /etc here'
	[ ! -e "$source" ] && ! getent group epochfilter > /dev/null ||
		ktap_skip_all 'epochfilter is installed here'
	ktap_plan 7
	static
	ktap_check 'DKMS builds and installs all modules' module install
	ktap_check 'it says so, and all are where modprobe looks' installed
	ktap_check 'iptables loads the match by its alias, and what it needs' found_by_alias
	ktap_check 'the kernel finds the kinds by the name that it asks for' kinds_found
	ktap_check 'make uninstall leaves nothing' uninstalled
	ktap_finish
}

uninstalled() {
	module uninstall && nothing_left
}

static() {
	ktap_is 'dkms.conf names the modules that Kbuild makes' "$(named "$headers")" "$(made)"
	ktap_is 'for a kernel without xtables all but the match' "$(named "$tmp")" \
		"$(printf 'build/kmod/%s.ko\n' epochfilter epochfilter_kinds)"
}

if [ -z "$whole" ]; then
	tmp=$(mktemp -d) || exit 1
	ktap_cleanup rmdir "$tmp"
	ktap_plan 2 3
	static
	ktap_thorough ktap_skip 'DKMS builds and installs' 'needs root and dkms: scripts/deps.sh debug'
	ktap_finish
fi
cycle
