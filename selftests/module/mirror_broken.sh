#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A mirror with a mutation is not equal to its filter (../mutants), in a guest.
exec "$(dirname "$0")/../mutants/run" module/mirror_broken
