# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the suites that need the module: loads it (EPF_KO, or the built one) if it is
# not loaded, or skips everything if it cannot be loaded.

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2034 # for the suites
built=$top/build/selftests/xdp

skip_all() {
	echo 'TAP version 13'
	echo "1..0 # SKIP $1"
	exit 4
}

if [ ! -d /sys/module/epochfilter ]; then
	[ -n "${EPF_VM:-}" ] || skip_all 'the module is not loaded, and this is no VM'
	insmod "${EPF_KO:-$top/build/kmod/epochfilter.ko}" ||
		skip_all 'the module does not load'
fi
