# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tries the mutants of the iptables match in a guest, for run. ../xt/Makefile has
# built them, all in one pair of modules.

built=$build/selftests/xt/broken

need_stock() {
	if ! [ -e "$built/xt_epf.ko" ]; then
		echo "$built/xt_epf.ko is not built"
	elif [ -n "${EPF_KO:-}" ]; then
		echo 'it is built for the stock kernel'
	fi
}

unload() {
	rmmod xt_epf epochfilter_kinds epochfilter 2> /dev/null
	[ ! -d /sys/module/epochfilter ]
}

need_unloaded() {
	unload || echo 'the modules are in use'
}

# A case may wait for a softirq to arrive at the right moment.
tries() {
	local _
	for _ in $(seq 10); do
		finishes "$@" && return
	done
	return 1
}

# usage: build_modules KO XT: the edit of epochfilter.ko, and that of xt_epf.ko, to enable
build_modules() {
	ktap_cleanup unload
	unload || echo 'the modules are in use'
	script 3000 EPF_KO="$built/epochfilter.ko" EPF_KO_BROKEN="$1" EPF_XT_BROKEN="$2"
	judge=tries
}
