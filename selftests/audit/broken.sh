#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of audits makes their tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/broken
