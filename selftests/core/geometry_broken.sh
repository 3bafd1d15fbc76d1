#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the geometry and of lanes makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/geometry_broken
