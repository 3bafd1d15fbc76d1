#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: tests.sh [PATTERN | --guest]
#
# Lists all test programs, or those whose names match the shell pattern, or those for a guest, one
# per line: name, where it runs (native or guest), path. If none matches, it prints one line with
# similar names on stderr, exit status 1.

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=${here%/*}

# usage: named WHERE; reads paths
named() {
	local path name
	while read -r path; do
		name=${path#"$here"/}
		name=${name#"${BUILD:-$top/build}"/selftests/}
		name=${name%.sh}
		echo "${name%.py} $1 $path"
	done
}

guest() {
	make -s --no-print-directory -C "$here" list_guest | named guest
}

all() {
	make -s --no-print-directory -C "$here" list | named native
	guest
}

# usage: near PATTERN; reads names
near() {
	python3 -c '
import difflib, sys
names = sorted(set(sys.stdin.read().split()))
want = sys.argv[1].strip("*")
near = [n for n in names if want and want.split("/")[-1] in n]
print(", ".join((near + [n for n in difflib.get_close_matches(want, names, 9, 0.5)
                         if n not in near])[:9]) or ", ".join(sorted({n.split("/")[0] + "/*" for n in names})))
' "$1"
}

[ "${1:-}" != --guest ] || { guest; exit; }
list=$(all) || exit 1
[ $# -gt 0 ] || { echo "$list"; exit 0; }
found=
while read -r name where path; do
	# shellcheck disable=SC2254 # a pattern
	case $name in $1) found=1; echo "$name $where $path" ;; esac
done <<< "$list"
[ -n "$found" ] && exit 0
echo "tests.sh: no test '$1'; near: $(cut -d ' ' -f 1 <<< "$list" | near "$1")" >&2
exit 1
