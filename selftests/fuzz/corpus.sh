#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The corpus again, of what it was and what long runs found: per target a few
# files that reach every edge which these reach and the seeds do not.

set -eu
cd "$(dirname "$0")"
out=${BUILD:-../../build}/selftests/fuzz
TMPDIR=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d)
export TMPDIR
export LLVM_PROFILE_FILE=/dev/null # reach.py counts lines
trap 'rm -rf "$TMPDIR"' EXIT

for target in packet snap keys capture options records parts merge build conf wire cluster; do
	all=$TMPDIR/$target
	mkdir -p "corpus/$target" "$out/found/$target"
	cp -r "$out/seeds/$target" "$all"
	"$out/$target" -set_cover_merge=1 -use_counters=0 "$all" \
		"corpus/$target" "$out/found/$target" > "$TMPDIR/log" 2>&1 ||
		{ tail -n 40 "$TMPDIR/log" >&2; exit 1; }
	rm -f "corpus/$target"/* "$all"/seed-*
	find "$all" -type f -exec cp {} "corpus/$target/" \;
	echo "$target: $(find "corpus/$target" -type f | wc -l) files," \
		"$(find "corpus/$target" -type f -exec cat {} + | wc -c) bytes"
done
