#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of kind chain makes its property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/chain_broken
