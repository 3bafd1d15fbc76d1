#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the limits of kinds makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/rooms_broken
