#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of steps, slots and names makes their tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/steps_broken
