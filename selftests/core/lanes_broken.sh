#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of lanes in C and in BPF fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/lanes_broken
