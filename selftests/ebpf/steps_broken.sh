#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests steps, slots and names fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/steps_broken
