#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs packets.py with the module.
# shellcheck source=selftests/xdp/load.sh disable=SC1091,SC2154
. "$(dirname "$0")/../xdp/load.sh"
export EPF_CLUSTER_BACKEND=module
exec "$top/selftests/cluster/packets.py" "$@"
