#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A built tree that is moved, and then copied: what includes a header that changed is compiled again, and
# nothing else is. One object of each Makefile that compiles; those of the suites share suite.mk.
# shellcheck disable=SC2317 # functions that ktap_check calls

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/selftests/ktap.sh"
[ -e "$top/.git" ] && command -v git clang > /dev/null || ktap_skip_all 'needs a git tree and clang'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
unset MAKEFLAGS MFLAGS MAKELEVEL
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'

# Folder, object in build/, a header that it includes
objects='user user/obj/libepf/desc.o include/epf/keydesc.h
bpf bpf/epf_hold.bpf.o include/epf/xdp.h
cuda cuda/emu/device.o cuda/emu/emu.h
cuda/bench bench/gpu/emulated/gather.o cuda/bench/bench.h
selftests/core selftests/core/touches include/epf/window.h
selftests/bpf selftests/bpf/digest.bpf.o include/epf/hash.h'

# usage: each COMMAND TREE [BUILD]: runs COMMAND FOLDER OBJECT HEADER BUILD for each of the objects
each() {
	local command=$1 tree=$2 build=${3:-$2/build} folder object header

	while read -r folder object header; do
		"$command" "$tree/$folder" "$build/$object" "$tree/$header" "$build" < /dev/null || return
	done <<< "$objects"
}

compile() {
	make -s -C "$1" BUILD="$4" "$2"
}

compiles() {
	make -n V=1 -C "$1" BUILD="$4" "$2" | grep -qF -- "-o $2"
}

same() {
	! compiles "$@" || { echo "would be compiled again: $2"; return 1; }
}

follows() {
	touch "$3"
	compiles "$@" && compile "$@" || { echo "changed: $3; not compiled again: $2"; return 1; }
}

all_follow() {
	each follows "$@" && each compile "$@"
}

sources() {
	mkdir "$tmp/one" && git -C "$top" ls-files -z -c -o --exclude-standard |
		tar -C "$top" --null -T - -c | tar -C "$tmp/one" -x
}

# Makefiles that have dependency files written and do not include moved.mk.
unaware() {
	cd "$top" && git grep -lE -e '-MMD' -- '*Makefile' |
		xargs grep -LE '^-?include .*(suite|moved)\.mk$'
}

ktap_plan 9
ktap_is 'each Makefile that compiles looks for a move' "$(unaware)" ''
ktap_check 'the sources' sources
ktap_check 'are built' each compile "$tmp/one"
mv "$tmp/one" "$tmp/mo.ved"
ktap_check 'moved: nothing is compiled' each same "$tmp/mo.ved"
ktap_check 'a header changes: what includes it is' all_follow "$tmp/mo.ved"
cp -a "$tmp/mo.ved" "$tmp/copied"
ktap_check 'copied: nothing is compiled' each same "$tmp/copied"
ktap_check 'a header changes: what includes it is' all_follow "$tmp/copied"
mv "$tmp/copied/build" "$tmp/build"
ktap_check 'build folder elsewhere: nothing is compiled' each same "$tmp/copied" "$tmp/build"
ktap_check 'a header changes: what includes it is' all_follow "$tmp/copied" "$tmp/build"
ktap_finish
