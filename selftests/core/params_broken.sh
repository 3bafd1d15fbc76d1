#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of parameters and of the sample makes their property tests fail
# (../mutants).
exec "$(dirname "$0")/../mutants/run" core/params_broken
