#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# kfunc == ioctl == offline, bit by bit.
# shellcheck source=selftests/xdp/load.sh disable=SC1091,SC2154
. "$(dirname "$0")/load.sh"
[ -x "$built/parity" ] || skip_all "$built/parity is not built"
exec "$built/parity" "$built/parity.bpf.o"
