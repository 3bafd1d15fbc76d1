#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of digests of changing memory makes their tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/flip_broken
