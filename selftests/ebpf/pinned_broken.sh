#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of pinned programs fails with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/pinned_broken
