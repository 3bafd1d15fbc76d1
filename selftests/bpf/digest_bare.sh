#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# As digest.sh, for the programs that load without CAP_PERFMON.

top=$(cd "$(dirname "$0")/../.." && pwd)
built=${BUILD:-$top/build}/selftests
exec "$built/bpf/digest" "$built/bpf/digest_bare.bpf.o" "$built/bpf/stacks.bin" \
	"$built/bpf/first.bpf.o" --without-perfmon
