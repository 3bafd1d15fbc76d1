#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of the Python package fail with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" python/broken
