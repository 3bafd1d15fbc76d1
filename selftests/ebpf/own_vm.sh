#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A program of each type that includes epf.bpf.h, built for the module.
# shellcheck source=selftests/xdp/load.sh disable=SC1091,SC2154
. "$(dirname "$0")/../xdp/load.sh"
built=${built%/xdp}/ebpf
[ -x "$built/own" ] || skip_all "$built/own is not built"
EPFCTL=$top/build/user/epfctl exec "$built/own" --module "$built/own_module.bpf.o" \
	"$built/own_sleep_module.bpf.o"
