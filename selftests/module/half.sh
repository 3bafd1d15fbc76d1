#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests a locked kind while its oldest epoch is being emptied (half.c), with the module of
# the stress test, whose sweeps can be stopped. In a VM only; leaves the module under test
# loaded.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
. "$here/modules.sh"
[ -e "$broken" ] || ktap_skip_all "$broken is not built: make -C selftests/torture"

ktap_plan 2
ktap_check 'a module whose sweeps can be stopped' insmod_broken
ktap_check 'an epoch half emptied' "$built/half"
insmod_again
ktap_finish
