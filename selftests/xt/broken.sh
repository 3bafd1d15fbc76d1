#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of the iptables match fails with each of its mutants (../mutants), in a guest.
exec "$(dirname "$0")/../mutants/run" xt/broken
