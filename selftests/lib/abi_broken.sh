#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The comparison of libepf's ABI notices what its mutants remove or change (../mutants).
exec "$(dirname "$0")/../mutants/run" lib/abi_broken
