#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of kind tlbf makes its property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/tlbf_broken
