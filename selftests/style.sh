#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The house rules, as one test; and a table or sentence that is not as docs/figures.toml has it, or a
# table that the file lacks, is found.

. "$(dirname "$0")/ktap.sh"
top=$(dirname "$0")/..
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# usage: figure_found FILE EDIT FAULT
figure_found() {
	rm -rf "${tmp:?}"/*
	cp -r "$top/README.md" "$top/docs" "$tmp"
	[ -z "$(python3 -B "$top/scripts/figures.py" "$tmp")" ] || return
	sed -i "$2" "$tmp/$1"
	python3 -B "$top/scripts/figures.py" "$tmp" | grep -q "$3"
}

written_again() {
	figure_found README.md 's/: 1,160 | 0.48 |/: 1,160 | 0.47 |/; s/^| 1,000,000 | 3.88 M.*/&\n&/' 0.47 &&
		python3 -B "$top/scripts/figures.py" --write "$tmp" && cmp "$top/README.md" "$tmp/README.md"
}

ktap_plan 7
ktap_check 'the tree keeps the house rules' "$top/scripts/style.sh"
ktap_check 'one more row of a table is found' figure_found README.md 's/^| 1,000,000 | 3.88 M.*/&\n&/' 'no row'
ktap_check 'another number in figures.toml is found' figure_found docs/figures.toml 's/| 405 times/| 404 times/' '404 times'
ktap_check 'a table with another number and one more row is found and written again' written_again
ktap_check 'a table without its date is found' figure_found docs/figures.toml \
	'/^file = "docs.PERFORMANCE.md"/,/^rows/ { /^date/d }' 'has no date'
ktap_check 'a table of figures without a source is found' figure_found docs/PERFORMANCE.md \
	's/^# Performance$/&\n\n| key | ns |\n|---|---|\n| new | 100 |/' 'is not in figures.toml'
ktap_check 'a sentence with another figure is found' figure_found docs/PERFORMANCE.md 's/ 3,839 / 3,840 /' "has '.* 3,839"
ktap_finish
