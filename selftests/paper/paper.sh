#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The papers' figures in their quick form, a point for each section and group;
# and the rules by which the page judges.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

command -v python3 > /dev/null || ktap_skip_all 'no python3'
temp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$temp"
mkdir "$temp/out" "$temp/rules"

# A right row and a wrong one for each rule.
cat > "$temp/rules/a.csv" <<'ROWS'
group,item,paper,ours,low,high,rule,note
g,agrees,.0222,.02224,,,digits,
g,FAILED,.0222,.02226,,,digits,
g,agrees,1.2e-5,.0000119,,,digits,
g,agrees,.0222,.0230,,,within:0.05,
g,FAILED,.0222,.0240,,,within:0.05,
g,agrees,.10,.11,.09,.12,interval,
g,FAILED,.10,.11,.101,.12,interval,
g,agrees,0,0.0000,,,exact,
g,FAILED,0,1e-9,,,exact,
g,agrees,5,5,,,atmost,
g,FAILED,5,5.01,,,atmost,
g,agrees,5,5,,,atleast,
g,FAILED,5,4.99,,,atleast,
g,agrees,,1,,,law,
g,FAILED,,0,,,law,
g,misprint,.58,.62501,,,misprint:.625,
g,FAILED,.58,.6261,,,misprint:.625,
g,reported,.5,.7,,,report,
g,skipped,.5,,,,report,
g,differs: hashing,.5,.7,,,known:hashing,
ROWS
verdicts_are_items() {
	"$here/page.py" "$temp/rules" a
	[ $? -eq 1 ] || return 1
	awk -F, 'NR > 1 && $3 != $7 { print; bad = 1 } END { exit bad || NR != 21 }' \
		"$temp/rules/verdicts.csv"
}

# usage: refuses ROW: page.py will not take it
refuses() {
	printf '%s\n' group,item,paper,ours,low,high,rule,note "$1" > "$temp/rules/b.csv"
	"$here/page.py" "$temp/rules" b
	[ $? -eq 2 ]
}

# A filter whose guard epoch does not count, measured by the same program.
without_guard_fails() {
	local top=$here/../.. broken=$temp/broken
	mkdir "$broken" "$broken/out" && cp -r "$top/include" "$broken/" || return 1
	"$here/../mutants/table.py" apply core/ge-no-guard "$broken/include/epf/ge.h" || return 1
	(cd "$here" && "${CC:-cc}" -O2 -std=gnu11 -I"$broken/include" \
		-I"$broken/include/uapi" -I"$top/user/libepf" -I. ge.c ge_*.c \
		"${BUILD:-$top/build}/user/libepf.a" -lm -o "$broken/ge" &&
		"$broken/ge" --quick "$broken/out") || return 1
	"$here/page.py" "$broken/out" ge
	[ $? -eq 1 ] || return 1
	for what in 'Table 1: synthetic' 'Laws,' 'Proposition 2'; do
		grep -q "^ge,$what.*,FAILED\$" "$broken/out/verdicts.csv" || return 1
	done
}

JOBS=1 "$here/run.sh" --quick "$temp/out" > "$temp/log" 2>&1
status=$?
sed 's/^/# /' "$temp/log"

mapfile -t sections < <(make -s -C "$here" list)
mapfile -t groups < <(awk -F, 'NR > 1 && !seen[$1 FS $2]++ { print $1 "," $2 }' \
	"$temp/out/verdicts.csv" 2> /dev/null)

# usage: none_failed SECTION,GROUP
none_failed() {
	awk -F, -v of="$1" '$1 "," $2 == of && $7 == "FAILED" { print; bad = 1 }
		END { exit bad }' "$temp/out/verdicts.csv"
}

# usage: drawn SECTION: all its plots, in both forms
drawn() {
	local svg some=
	for svg in "$temp/out/$1"_*.svg; do
		[ -s "$svg" ] && [ -s "${svg%.svg}.png" ] || return 1
		grep -q "${svg##*/}" "$temp/out/page.html" || return 1
		some=y
	done
	[ -n "$some" ]
}

ktap_plan $((6 + ${#groups[@]} + ${#sections[@]}))
ktap_check 'each rule gives its verdicts' verdicts_are_items
ktap_check 'a row with an unknown rule is refused' refuses g,i,1,1,,,near,
ktap_check 'a row without a number is refused' refuses g,i,,1,,,digits,
ktap_check 'a row with a field too many is refused' refuses g,i,1,1,,,digits,a,b
ktap_check 'guarded epochs without the guard fail' without_guard_fails
ktap_is 'every section ran' $status 0
for group in "${groups[@]}"; do
	ktap_check "${group%%,*}: ${group#*,}" none_failed "$group"
done
for name in "${sections[@]}"; do
	if command -v gnuplot > /dev/null; then
		ktap_check "$name: plots" drawn "$name"
	else
		ktap_skip "$name: plots" 'no gnuplot'
	fi
done
ktap_finish
