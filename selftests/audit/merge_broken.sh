#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of merged snapshots makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/merge_broken
