#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# usage: kernel_vm.sh [PROGRAM]
#
# kernel.c, or another program, with the module loaded. Run as root in a VM; elsewhere the module must be there.

top=$(cd "$(dirname "$0")/../.." && pwd)
loaded=
if [ ! -e /dev/epochfilter ] && [ -n "${EPF_VM:-}" ]; then
	insmod "${EPF_KO:-$top/build/kmod/epochfilter.ko}" || exit 1
	loaded=1
fi
if [ ! -e /dev/epochfilter ]; then
	printf 'TAP version 13\n1..0 # SKIP no /dev/epochfilter\n'
	exit 4
fi
"${1:-${BUILD:-$top/build}/selftests/lib/kernel}"
status=$?
if [ -n "$loaded" ]; then
	[ ! -e /sys/module/epochfilter_kinds ] || rmmod epochfilter_kinds
	rmmod epochfilter
fi
exit $status
