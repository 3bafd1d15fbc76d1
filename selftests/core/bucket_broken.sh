#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of token buckets and meters makes their property tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/bucket_broken
