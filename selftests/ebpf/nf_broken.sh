#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of attach --hook, and that of marks, fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/nf_broken
