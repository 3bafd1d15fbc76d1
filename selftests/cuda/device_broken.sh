#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The device suite and the benchmark fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" cuda/device_broken
