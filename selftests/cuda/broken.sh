#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the kernels makes their tests fail (../mutants).
exec "$(dirname "$0")/../mutants/run" cuda/broken
