#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of keys made from packets makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/keys_broken
