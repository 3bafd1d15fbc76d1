#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of snapshots of owned kinds fails with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" audit/images_broken
