#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Make a table of the output of "nvcc -Xptxas -v" on stdin: a line for each kernel and
# architecture with its registers, bytes of shared memory, bytes of stack, bytes of
# spill stores and loads.
#
# usage: resources.sh [--rest]
#
#   --rest   print all other output (warnings) instead of the table

if [ "${1:-}" = --rest ]; then
	grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' -e '^$'
	exit 0
fi

c++filt | awk '
	/Compiling entry function/ {
		arch = $NF
		gsub(/\047/, "", arch)
		name = $0
		sub(/^[^\047]*\047/, "", name)
		sub(/\047 for .*/, "", name)
		sub(/^void /, "", name)
		sub(/\(.*/, "", name)
		gsub(/ /, "", name)
		entry = 1
	}
	/bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
	/Used [0-9]+ registers/ && entry {
		smem = 0
		for (i = 2; i <= NF; i++) {
			if ($i ~ /^registers/) registers = $(i - 1)
			if ($i ~ /^smem/) smem = $(i - 2)
		}
		printf "%-7s %-22s %9d %6d %5d %6d %6d\n", arch, name, registers,
			smem, stack, stores, loads
		entry = 0
	}' | sort -V | awk '
	BEGIN {
		printf "%-7s %-22s %9s %6s %5s %6s %6s\n", "arch", "kernel",
			"registers", "shared", "stack", "stores", "loads"
	}
	{ print }'
