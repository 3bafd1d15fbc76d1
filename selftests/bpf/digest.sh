#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Packet digests of BPF programs against the core's. digest_bare.sh tests the form of the
# programs that loads without CAP_PERFMON.

top=$(cd "$(dirname "$0")/../.." && pwd)
built=${BUILD:-$top/build}/selftests
exec "$built/bpf/digest" "$built/bpf/digest.bpf.o" "$built/bpf/stacks.bin" "$built/bpf/first.bpf.o"
