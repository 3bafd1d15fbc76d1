#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of engine cuda makes its tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" gpu/broken
