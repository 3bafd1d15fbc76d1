#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of pinned programs makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/pinned_broken
