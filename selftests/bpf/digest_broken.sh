#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of digests in BPF makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" bpf/digest_broken
