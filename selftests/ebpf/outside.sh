#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The program in README, by the commands in README: built outside the tree against the
# files of "make install", loaded by bpftool, and run.
# shellcheck disable=SC2317 # functions that checks call

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
top=$PWD
build=${BUILD:-$top/build}
export PATH=$PATH:/usr/sbin:/sbin
for tool in clang bpftool; do
	command -v "$tool" > /dev/null || ktap_skip_all "needs $tool"
done
[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
EPF_BACKEND=bpf "$build/user/epfctl" doctor > /dev/null || ktap_skip_all 'no BPF here'
tmp=$(mktemp -d) || exit 1
name=epftest-outside-$$
selftests/ebpf/sweep.py
ktap_cleanup rm -rf "$tmp"
ktap_cleanup rm -f "/sys/fs/bpf/$name"
ktap_cleanup "$build/user/epfctl" --backend bpf destroy --force "$name"
mkdir "$tmp/work" && cd "$tmp/work" || exit 1

installed() {
	make -s -C "$top/user" BUILD="$build" DESTDIR="$tmp/root" install
}

# Prints the block of README that begins with the file's first line.
in_readme() {
	awk '/^```c$/ { in_block = 1; next } /^```$/ { in_block = 0 } in_block' "$top/README.md" > example.bpf.c
	cmp example.bpf.c "$top/bpf/example.bpf.c" &&
		cmp example.bpf.c "$tmp/root/usr/local/share/epochfilter/example.bpf.c" &&
		[ "$(grep -vc SPDX example.bpf.c)" -le 20 ]
}

# Prints README's line that begins with $1 and its continuation, with this test's paths
# and filter, and with a window so long that no load of the machine makes it overdue.
line() {
	awk -v begin="    $1" 'index($0, begin) == 1 { on = 1 } on { print } on && !/\\$/ { exit }' "$top/README.md" |
		sed "s|/usr/local|$tmp/root/usr/local|g; s|sudo ||g; s|one_each|$name|g; s|\<senders\>|$name|g
			s|epfctl|$tmp/root/usr/local/bin/epfctl|; s|--time 10s|--time 1h|"
}

by_line() {
	local command
	command=$(line "$1") && [ -n "$command" ] && echo "$command" && eval "$command"
}

# Sends one packet from $1. Prints the program's verdict.
packet() {
	printf '\2%011d\10\0\105\0\0\62\0\0\0\0\100\21\0\0\12\0\0%b\12\0\0\1%030d' 0 "$1" 0 > packet
	bpftool prog run pinned "/sys/fs/bpf/$name" data_in packet repeat 1 2> /dev/null |
		sed -n 's/.*Return value: \([0-9]*\).*/\1/p'
}

# The holder is another process, which takes over the filter at some time.
dropped() {
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(packet "$1")" != 1 ] || return 0
		sleep 0.1
	done
	return 1
}

known() {
	"$build/user/epfctl" --backend bpf test "$name" --format hex "$1"
}

# Builds the example in another way: with options $1, and the kernel's headers from file
# $2.
other_build() {
	sed "/<linux\//d; s|^#include <bpf/bpf_endian.h>|#include \"$2\"\n#define ETH_P_IP 0x0800\n&|" \
		example.bpf.c > other.bpf.c
	[ -n "$2" ] || cp example.bpf.c other.bpf.c
	local command
	command=$(line 'clang ' | sed "s|example.bpf.c|other.bpf.c|")
	eval "$command $1 -Wall -Wextra -Werror"
}

dumped() {
	bpftool btf dump file /sys/kernel/btf/vmlinux format c > vmlinux.h && other_build '' vmlinux.h
}

removed() {
	make -s -C "$top/user" BUILD="$build" DESTDIR="$tmp/root" uninstall &&
		[ -z "$(find "$tmp/root" -type f)" ]
}

ktap_plan 11
ktap_check 'headers are installed' installed
ktap_check "the program is README's, and of 20 lines" in_readme
ktap_check 'it builds outside the tree' by_line 'clang '
ktap_check 'so it does for filters of the module' other_build -DEPF_MODULE ''
ktap_check 'and with the types of a vmlinux.h' dumped
ktap_check 'its filter is made' by_line 'sudo epfctl --backend bpf create senders'
ktap_check 'it is loaded, on this filter' by_line 'sudo bpftool prog load'
ktap_is 'the first packet of a sender passes' "$(packet '\7')" 2
ktap_check 'the next one is dropped, once the kernel ends epochs' dropped '\7'
ktap_check 'epfctl knows the sender, and no other' eval 'known 0a000007 && ! known 0a000008'
ktap_check 'nothing is left by make uninstall' removed
ktap_finish
