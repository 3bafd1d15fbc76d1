#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Frames of every protocol stack: the same verdict offline, by ioctl and in XDP. Outside a
# VM without the module only offline.

top=$(cd "$(dirname "$0")/../.." && pwd)
built=$top/build/selftests/xdp
if [ ! -d /sys/module/epochfilter ] && [ -z "${EPF_VM:-}" ]; then
	exec "$built/stacks" "$built/stacks.bin"
fi
# shellcheck source=selftests/xdp/load.sh disable=SC1091
. "$(dirname "$0")/load.sh"
exec "$built/stacks" "$built/stacks.bin" "$built/parity.bpf.o" \
	"$top/build/bpf/xdp_dedup.bpf.o" "$top/build/bpf/epf_bind.bpf.o"
