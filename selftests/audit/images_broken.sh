#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of snapshots of locked kinds makes their test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/images_broken
