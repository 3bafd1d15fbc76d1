#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of work in steps fails with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/steps_broken
