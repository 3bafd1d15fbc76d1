#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Unloads the modules if no filter exists and nobody uses them. Exit: 0 none is loaded
# any more, 1 something is in use: one line says what, and every filter is as before.

set -eu
PATH=$PATH:/usr/sbin:/sbin

die() {
	echo "unload: $*" >&2
	exit 1
}

loaded() {
	grep -q "^$1 " /proc/modules 2> /dev/null
}

# Removes module $1 if it is loaded. The memory of destroyed filters keeps it for a grace
# period.
remove() {
	loaded "$1" || return 0
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rmmod "$1" 2> /dev/null && return
		sleep 0.2
	done
	rmmod "$1"
}

# Filters that nobody uses do not keep the module, so unloading it would lose them.
refuse_filters() {
	command -v epfctl > /dev/null || die "cannot tell whether filters exist, as epfctl is missing: rmmod epochfilter removes the module with all of them"
	names=$(epfctl --backend module list --names) || die 'cannot list the filters'
	[ -z "$names" ] || die "filters exist: destroy them first (epfctl list): $(echo "$names" | paste -s -d ' ')"
}

loaded epochfilter || exit 0
refuse_filters
remove xt_epf ||
	die 'the iptables match is in use: delete rules with -m epf first (iptables-save)'
remove epochfilter_kinds ||
	die 'something uses filters of other kinds than lanes: close it first'
remove epochfilter ||
	die 'the module is in use: detach programs and close filters first'
