#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The house rules, as one test; and a number of a table that docs/figures.toml lacks is found, and
# so is such a table.

. "$(dirname "$0")/ktap.sh"
top=$(dirname "$0")/..
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# figure_found EDIT: of README.md, a document or figures.toml
figure_found() {
	rm -rf "${tmp:?}"/*
	cp -r "$top/README.md" "$top/docs" "$tmp"
	[ -z "$(python3 -B "$top/scripts/figures.py" "$tmp")" ] || return
	find "$tmp" -type f -exec sed -i "$1" {} +
	python3 -B "$top/scripts/figures.py" "$tmp" | grep -q figures.toml
}

ktap_plan 6
ktap_check 'the tree keeps the house rules' "$top/scripts/style.sh"
ktap_check 'another number in a table is found' figure_found 's/| 1,160 | 0.49 |/| 1,160 | 0.48 |/'
ktap_check 'one more row of a table is found' figure_found 's/^| 1,000,000 | 3.88 M.*/&\n&/'
ktap_check 'one more number in a row is found' figure_found 's/| 405 times faster |/| 405 to 410 times faster |/'
ktap_check 'a table without its date is found' figure_found '/^file = "docs.PERFORMANCE.md"/,/^rows/ { /^date/d }'
ktap_check 'a table of figures without a source is found' figure_found 's/^# Performance$/&\n\n| key | ns |\n|---|---|\n| new | 100 |/'
ktap_finish
