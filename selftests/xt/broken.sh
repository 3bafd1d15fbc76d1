#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each mutant of the iptables match makes its test fail (../mutants), in a guest.
exec "$(dirname "$0")/../mutants/run" xt/broken
