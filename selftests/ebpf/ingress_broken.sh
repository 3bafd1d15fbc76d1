#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of attach --admit and --log-new fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/ingress_broken
