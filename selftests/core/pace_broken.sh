#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of counting on many CPUs makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/pace_broken
