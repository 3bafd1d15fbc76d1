#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Packet digests of BPF programs against the core's.

top=$(cd "$(dirname "$0")/../.." && pwd)
built=${BUILD:-$top/build}/selftests
exec "$built/bpf/digest" "$built/bpf/digest.bpf.o" "$built/bpf/stacks.bin"
