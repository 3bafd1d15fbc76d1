#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of journals and tails makes their test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/tail_broken
