#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Known answers and laws of digests fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/hash_broken
