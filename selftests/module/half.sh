#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests a locked kind while its oldest epoch is being emptied (half.c), with the module of
# the stress test, whose sweeps can be stopped. In a VM only; leaves the module under test
# loaded.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
. "$here/modules.sh"
top=${here%/*/*}
ko=${EPF_KO:-$top/build/kmod/epochfilter.ko}
broken=${EPF_TORTURE_DIR:-$top/build/selftests/torture}/broken/epochfilter.ko
broken_kinds=${broken%/*}/epochfilter_kinds.ko

[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'
[ -e "$broken" ] || ktap_skip_all "$broken is not built: make -C selftests/torture"

ktap_plan 2
rmmod epochfilter_kinds 2> /dev/null
rmmod epochfilter 2> /dev/null
ktap_check 'a module whose sweeps can be stopped' \
	insmod_both "$broken" "$broken_kinds"
ktap_check 'an epoch half emptied' "$top/build/selftests/module/half"
remove epochfilter_kinds
rmmod epochfilter
insmod "$ko"
ktap_finish
