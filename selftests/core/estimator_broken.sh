#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of the false-positive-rate estimator fails with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/estimator_broken
