#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's part of the demo, inside the VM; see replay.sh.

set -eu -o pipefail

. selftests/demo/replay.sh

insmod build/kmod/epochfilter.ko
run_demo
