#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First contact: what "make demo BACKEND=bpf" installs on a minimal Debian 12 that has only make, by apt's own
# count, and what it says there to who is not root. With EPF_THOROUGH it is run there for real, and "make install".
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
grep -q VERSION_CODENAME=bookworm /etc/os-release || ktap_skip_all 'not Debian 12'
[ -n "$(apt-cache pkgnames libbpf-dev)" ] || ktap_skip_all 'no lists of packages: apt-get update'
tmp=$(mktemp -d -p "$top/build") || exit 1
ktap_cleanup rm -rf "$tmp"
root=$tmp/root home=/home/user/epochfilter

minimal() {
	python3 -B -c 'import sys; sys.path.insert(0, sys.argv[1]); import lent; lent.make(sys.argv[2], ["apt", "make"])' \
		"$top/selftests/install" "$root" && "$top/selftests/install/root.sh" --tree "$root"
}

# usage: inside COMMAND...: as root in the tree
inside() {
	unshare --mount --propagation private sh -c 'mount --bind $0 $0; for m in proc sys dev; do mount --rbind /$m $0/$m; done; mount -t bpf bpf $0/sys/fs/bpf; exec chroot $0 env -C "$@"' \
		"$root" "$home" PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

measure() {
	# shellcheck disable=SC2046 # one word each
	inside apt-get -qq -o APT::Sandbox::User=root install --no-install-recommends --print-uris $(inside scripts/deps.sh --print demo) > "$tmp/uris"
	read -r packages megabytes < <(awk '{ n++; bytes += $3 } END { print n + 0, int(bytes / 1e6) }' "$tmp/uris")
	[ "$packages" -gt 50 ]
}

one_line() {
	inside setpriv --reuid 1000 --regid 1000 --clear-groups make -s demo BACKEND=bpf > "$tmp/said" 2>&1
	[ "$(grep -c missing "$tmp/said")" -eq 1 ] && grep -q 'run as root: apt-get install --no-install-recommends .*libbpf-dev' "$tmp/said" ||
		{ cat "$tmp/said"; return 1; }
}


demo() {
	inside make -s demo BACKEND=bpf
}

alone() {
	inside make -s install DESTDIR=/tmp/staged && [ -x "$root/tmp/staged/usr/local/bin/epfctl" ]
}

ktap_plan 5 7
ktap_check 'a minimal root' minimal
ktap_check 'apt counts what the demo installs' measure
ktap_diag "$packages packages, $megabytes MB"
ktap_check 'at most 120 packages' test "$packages" -le 120
ktap_check 'of at most 150 MB' test "$megabytes" -le 150
ktap_check 'who is not root gets one line for all of it' one_line
ktap_thorough ktap_check 'the demo installs, builds and drops the repeats' demo
ktap_thorough ktap_check 'make install lays out user space' alone
ktap_finish
