#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of aligned windows makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/align_broken
