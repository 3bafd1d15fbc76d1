#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The laws of memory that changes fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/flip_broken
