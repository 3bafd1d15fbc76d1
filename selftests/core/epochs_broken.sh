#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the guarded-epoch kinds makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/epochs_broken
