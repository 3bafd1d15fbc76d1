#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of lanes, in C or in BPF, makes their tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/lanes_broken
