#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of the C library fail with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" lib/broken
