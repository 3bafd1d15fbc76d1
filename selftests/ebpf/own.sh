#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A program of each type that includes epf.bpf.h, loaded by libbpf only.

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
built=$build/selftests/ebpf
[ "$(id -u)" -ne 0 ] || "$top/selftests/ebpf/sweep.py"
EPFCTL=${EPFCTL:-$build/user/epfctl} exec "$built/own" "${OWN:-$built/own.bpf.o}" \
	"${OWN_SLEEP:-$built/own_sleep.bpf.o}"
