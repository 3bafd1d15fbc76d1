#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the timer makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/timer_broken
