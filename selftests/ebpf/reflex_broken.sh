#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of attach --reflexive makes its test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" ebpf/reflex_broken
