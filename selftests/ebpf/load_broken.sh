#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the programs makes the test of loading fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/load_broken
