#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# overdue.c with the filters of the kernel, and the module loaded. Run as root in a VM.

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
EPF_OVERDUE=kernel exec "$here/kernel_vm.sh" "${BUILD:-$top/build}/selftests/lib/overdue"
