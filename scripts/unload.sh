#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Unloads the modules if no filter exists and nobody uses them. Exit: 0 none is loaded
# any more, 1 something is in use: one line says what, and every filter is as before.
#
# Filters that nobody uses do not keep the module. So no filter may appear between the look
# at the list and rmmod: meanwhile the limit of filters is 0, and creation fails (ENOSPC). A
# creation that began before has the device open, which counts as a use of the module: the
# list that decides is read after the count was 0.

set -eu
PATH=$PATH:/usr/sbin:/sbin
module=/sys/module/epochfilter
limit=$module/parameters/max_filters

die() {
	echo "unload: $*" >&2
	exit 1
}

loaded() {
	grep -q "^$1 " /proc/modules 2> /dev/null
}

# usage: patiently COMMAND...: tries it for two seconds. The memory of destroyed filters keeps
# modules for a grace period.
patiently() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$@" 2> /dev/null && return
		sleep 0.2
	done
	"$@"
}

# Removes module $1 if it is loaded.
remove() {
	! loaded "$1" || patiently rmmod "$1"
}

unused() {
	[ "$(cat $module/refcnt)" = 0 ]
}

refuse_filters() {
	names=$(epfctl --backend module list --names) || die 'cannot list the filters'
	[ -z "$names" ] || die "filters exist: destroy them first (epfctl list): $(echo "$names" | paste -s -d ' ')"
}

allow_filters() {
	[ ! -e $limit ] || echo "$most" > $limit
}

loaded epochfilter || exit 0
command -v epfctl > /dev/null ||
	die "cannot tell whether filters exist, as epfctl is missing: rmmod epochfilter removes the module with all of them"
most=$(cat $limit)
trap allow_filters EXIT
trap 'exit 1' HUP INT TERM
echo 0 > $limit
refuse_filters
remove xt_epf ||
	die 'the iptables match is in use: delete rules with -m epf first (iptables-save)'
remove epochfilter_kinds ||
	die 'something uses filters of other kinds than lanes: close it first'
patiently unused || die 'the module is in use: detach programs and close filters first'
refuse_filters
remove epochfilter ||
	die 'the module is in use: detach programs and close filters first'
