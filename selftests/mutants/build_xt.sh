# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What tries the mutants of the iptables match in a guest, for run: those of $edited.

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
	script 3000 EPF_KO="$edited/epochfilter.ko" EPF_KO_BROKEN="$1" EPF_XT_BROKEN="$2"
	judge=tries
}
