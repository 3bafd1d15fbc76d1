#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# kernel.py with the module loaded, in a VM.
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../lib/kernel_vm.sh" "$here/kernel.py"
