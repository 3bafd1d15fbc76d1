#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The laws of the geometry and of lanes fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/geometry_broken
