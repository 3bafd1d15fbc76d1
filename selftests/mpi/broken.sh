#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The tests of epfmpi fail with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" mpi/broken
