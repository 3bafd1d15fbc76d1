#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of kind dict makes its property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/dict_broken
