#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the agent with pure BPF filters makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/broken
