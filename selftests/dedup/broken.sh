#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of dedup makes its tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" dedup/broken
