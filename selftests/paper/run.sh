#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The papers' tables and figures, measured again: CSV, plots, and a page that
# puts both side by side. Guarantees:
#  - every number of the page comes from a CSV beside it;
#  - the last line is "N agree, N misprints, N known differences, N reported,
#    N FAILED", with "N skipped" before the last where something was not run;
#  - exit 0 means that every section ran and no row failed.
#
# usage: run.sh [--quick] [--log LOG] [--only SECTION]... [OUTDIR]
#
#   --quick   a small form of everything
#   --log     access log in the common or combined format, may be .gz; without
#             it the sections that use one say so
#   --only    run these; the page is of all whose CSV is in OUTDIR
#   OUTDIR    build/paper

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/selftests/paper
bin=${BUILD:-$top/build}/selftests/paper
out=${BUILD:-$top/build}/paper
# OUT=, given to the Makefile that runs this, is none of the Makefiles' below.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES OUT
quick=()
log=
only=()

usage() {
	sed -n 's/^# usage: /usage: /p' "$here/run.sh" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=(--quick) ;;
	--log) [ $# -gt 1 ] || usage; log=$2; shift ;;
	--only) [ $# -gt 1 ] || usage; only+=("$2"); shift ;;
	-*) usage ;;
	*) [ $# -eq 1 ] || usage; out=$1 ;;
	esac
	shift
done

[ -z "$log" ] || [ -r "$log" ] || {
	echo "paper: cannot read $log" >&2
	exit 2
}
mapfile -t sections < <(make -s -C "$here" list)
for name in "${only[@]}"; do
	[[ " ${sections[*]} " = *" $name "* ]] || {
		echo "paper: no section $name" >&2
		exit 2
	}
done
[ ${#only[@]} -gt 0 ] || only=("${sections[@]}")

mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
temp=$(mktemp -d) || exit 1
trap 'rm -rf "$temp"' EXIT
make -s -C "$here" SECTIONS="${only[*]}" > "$temp/build" 2>&1 || {
	cat "$temp/build" >&2
	exit 1
}

# The sections get plain text under the log's own name.
if [ -n "$log" ]; then
	name=${log##*/}
	mkdir "$temp/log"
	case $name in
	*.gz) gzip -cd < "$log" > "$temp/log/${name%.gz}" || exit 1 ;;
	*) cp "$log" "$temp/log/$name" || exit 1 ;;
	esac
	log=$temp/log/${name%.gz}
fi

# usage: section NAME; what it prints goes to $temp/NAME, its status too.
# Programs and scripts run in this folder, where data/ and style.gp are.
section() {
	local status=0 start=$SECONDS
	rm -f "$out/$1.csv" "$out/$1"_*.{csv,svg,png}
	{
		(cd "$here" && "$bin/$1" "${quick[@]}" "$out" ${log:+"$log"}) || status=1
		if [ $status -eq 0 ] && [ -e "$here/$1.gp" ]; then
			plots "$1" || status=1
		fi
		[ $status -eq 0 ] || rm -f "$out/$1.csv"
		echo "$1: $((SECONDS - start)) s"
	} > "$temp/$1" 2>&1
	echo $status > "$temp/$1.status"
}

plots() {
	command -v gnuplot > /dev/null || {
		echo "$1: no plots, gnuplot is missing (scripts/deps.sh paper)"
		return 0
	}
	(cd "$here" && gnuplot -e "dir='$out'" "$1.gp") || {
		echo "$1: gnuplot failed"
		return 1
	}
}

failed=0
jobs=${JOBS:-$(nproc)}
running=0
for name in "${only[@]}"; do
	[ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
	section "$name" &
	running=$((running + 1))
done
wait
for name in "${only[@]}"; do
	cat "$temp/$name"
	[ "$(cat "$temp/$name.status")" = 0 ] || {
		echo "paper: section $name did not run" >&2
		failed=1
	}
done

# Of all sections that ran, now or before.
there=()
for name in "${sections[@]}"; do
	if [ -e "$out/$name.csv" ] || [[ " ${only[*]} " = *" $name "* ]]; then
		there+=("$name")
	fi
done
"$here/page.py" "${quick[@]}" "$out" "${there[@]}" || failed=1
exit $failed
