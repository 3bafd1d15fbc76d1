#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: broken.sh FLAG STEPS
#
# Runs the stress test with a protection disabled (broken/epf/estimate.h), on a kernel
# that must report it, although this script succeeds (selftests/kernels.sh).

here=$(cd "$(dirname "$0")" && pwd) || exit 1
built=${EPF_TORTURE_DIR:-${here%/*/*}/build/selftests/torture}

insmod "$built/broken/epochfilter.ko" broken="$1" || exit
insmod "$built/broken/epochfilter_kinds.ko" || exit
echo "$2" > /sys/module/epochfilter/parameters/torture &&
	rmmod epochfilter_kinds && rmmod epochfilter
