# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tries the mutants of mirrors in a guest, for run. ../module/Makefile has built them.

need_mirrors() {
	[ -x "$build/selftests/module/mirror_whole" ] || echo 'mirror_whole is not built'
}

# usage: build_mirror NAME
build_mirror() {
	program=("$build/selftests/module/mirror_$1")
	judge=finishes
}
