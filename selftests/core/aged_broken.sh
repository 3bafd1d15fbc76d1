#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the aging-slice kinds makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/aged_broken
