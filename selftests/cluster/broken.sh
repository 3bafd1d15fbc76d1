#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of live clusters makes a test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" cluster/broken
