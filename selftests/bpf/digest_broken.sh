#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The test of digests in BPF fails with each of its mutants (../mutants).
exec "$(dirname "$0")/../mutants/run" bpf/digest_broken
