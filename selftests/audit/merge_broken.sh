#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The laws of merged snapshots fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/merge_broken
