#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The laws of the kinds made of slices that age fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/aged_broken
