#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the module makes a test fail (../mutants), in a guest.
exec "$(dirname "$0")/../mutants/run" module/broken
