#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the conversion of snapshots makes their test fail (../mutants).
exec "$(dirname "$0")/../mutants/run" core/order_broken
