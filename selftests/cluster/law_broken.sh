#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of agents in a live cluster makes a test with the oracle fail (../mutants).
exec "$(dirname "$0")/../mutants/run" cluster/law_broken
