#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of counting on many CPUs fails with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/pace_broken
