#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the mirror differs from its filter (../mutants), in a guest.
exec "$(dirname "$0")/../mutants/run" module/mirror_broken
