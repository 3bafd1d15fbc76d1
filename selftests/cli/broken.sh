#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of batches and streams fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" cli/broken
