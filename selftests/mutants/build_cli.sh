# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of epfctl, for run.

build_ctl() {
	script 300 EPF_CTL="$tmp/epfctl" EPF_PATIENCE=10
	judge=finishes
	relink broken-ctl epfctl
}

# The program that draws the picture, with an edited view.
build_draw() {
	local libs
	libs=$(pkg-config --libs ncursesw 2> /dev/null) || libs='-lncursesw -ltinfo'
	script 60 EPF_DRAW_VIEW="$tmp/draw_view"
	# shellcheck disable=SC2086 # a list
	"$CC" -std=gnu11 -D_GNU_SOURCE -I"$copy/user" -Iuser -Iuser/libepf -Iuser/epfctl -Iinclude \
		-Iinclude/uapi -ffunction-sections -Wl,--gc-sections selftests/cli/draw_view.c \
		user/common/output.c user/common/progress.c user/libepf/clock.c -o "$tmp/draw_view" $libs -ljansson
}
