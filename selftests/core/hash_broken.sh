#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of digests makes their known answers or property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/hash_broken
