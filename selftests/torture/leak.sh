#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Leaks memory of the module, on a kernel that looks for leaks: the guest is to
# fail for it, although this ends well (selftests/kernels.sh).

here=$(cd "$(dirname "$0")" && pwd) || exit 1
built=${EPF_TORTURE_DIR:-${here%/*/*}/build/selftests/torture}
leak=64 # as in broken/epf/estimate.h

insmod "$built/broken/epochfilter.ko" broken=$leak || exit
echo 100 > /sys/module/epochfilter/parameters/torture && rmmod epochfilter
