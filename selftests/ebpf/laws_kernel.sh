#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The window law where a BPF timer ends epochs.

top=$(cd "$(dirname "$0")/../.." && pwd)
exec "${BUILD:-$top/build}/selftests/ebpf/laws" kernel
