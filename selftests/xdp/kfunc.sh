#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Functions of the module on changing memory, without a filter, and called by processes
# that may not have one.
# shellcheck source=selftests/xdp/load.sh disable=SC1091,SC2154
. "$(dirname "$0")/load.sh"
[ -x "$built/kfunc" ] || skip_all "$built/kfunc is not built"
exec "$built/kfunc" "$built/kfunc.bpf.o"
