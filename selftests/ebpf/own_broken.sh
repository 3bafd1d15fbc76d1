#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of epf.bpf.h makes the test of own programs fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/own_broken
