#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of attach --hook and of marks makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/nf_broken
