#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the device suite and the benchmark makes it fail (../mutants).
exec "$(dirname "$0")/../mutants/run" cuda/device_broken
