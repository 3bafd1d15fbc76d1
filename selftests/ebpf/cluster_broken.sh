#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the packet path of a cluster makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/cluster_broken
