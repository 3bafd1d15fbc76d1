#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of work in steps makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/steps_broken
