#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of live clusters makes a test with real agents fail (../mutants).
exec "$(dirname "$0")/../mutants/run" cluster/live_broken
