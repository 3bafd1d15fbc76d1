#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The house rules, as one test; and a number of a table that docs/figures.toml lacks is found.

. "$(dirname "$0")/ktap.sh"
top=$(dirname "$0")/..
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# figure_found EDIT: of README.md or docs/PERFORMANCE.md
figure_found() {
	rm -rf "${tmp:?}"/*
	mkdir "$tmp/docs"
	cp "$top/README.md" "$tmp"
	cp "$top/docs/PERFORMANCE.md" "$top/docs/figures.toml" "$tmp/docs"
	[ -z "$(python3 -B "$top/scripts/figures.py" "$tmp")" ] || return
	sed -i "$1" "$tmp/README.md" "$tmp/docs/PERFORMANCE.md"
	python3 -B "$top/scripts/figures.py" "$tmp" | grep -q figures.toml
}

ktap_plan 4
ktap_check 'the tree keeps the house rules' "$top/scripts/style.sh"
ktap_check 'another number in a table is found' figure_found 's/| 1,160 | 0.49 |/| 1,160 | 0.48 |/'
ktap_check 'one more row of a table is found' figure_found 's/^| 1,000,000 | 3.88 M.*/&\n&/'
ktap_check 'one more number in a row is found' figure_found 's/| 405 times faster |/| 405 to 410 times faster |/'
ktap_finish
