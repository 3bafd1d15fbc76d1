#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of attach --admit and --log-new makes their tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/ingress_broken
