#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The laws of parameters and of the sample fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/params_broken
