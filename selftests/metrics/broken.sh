#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of the metrics fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" metrics/broken
