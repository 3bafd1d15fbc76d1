# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tries the mutants of mirrors, which ../module/Makefile has built, and those of the module in
# $edited in a guest, for run.

need_mirrors() {
	[ -x "$build/selftests/module/mirror_whole" ] || echo 'mirror_whole is not built'
}

# usage: build_mirror NAME
build_mirror() {
	program=("$build/selftests/module/mirror_$1")
	judge=finishes
}

# usage: build_edited BROKEN: loads the module with this edit enabled
build_edited() {
	ktap_cleanup unload
	unload && insmod "$edited/epochfilter.ko" broken="$1" &&
		insmod "$edited/epochfilter_kinds.ko" || return
	program=("$build/selftests/$test")
	judge=finishes
}
