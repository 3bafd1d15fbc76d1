#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The laws of the elastic lines fail with each of their mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" core/elastic_broken
