#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the agent makes its tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" agent/broken
