#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The window property with a BPF timer that ends epochs.

top=$(cd "$(dirname "$0")/../.." && pwd)
exec "${BUILD:-$top/build}/selftests/ebpf/laws" kernel
