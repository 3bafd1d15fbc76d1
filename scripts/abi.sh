#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: abi.sh check [LIBRARY]	(build/user/libepf.so.1)
#	abi.sh renew [LIBRARY]
#
# check compares libepf.so with user/lib/libepf.abi, what the last release exports: functions,
# their signatures, the structs of libepf.h. Additions pass: functions, and members at the end
# of structs that begin with their size. The values of macros and enums are not compared, as no
# function has them in its signature. renew writes libepf.abi, as a step of a release; it
# refuses to leave out or to change anything.
#
# Exit: 0 nothing was removed or changed; 1 something was, which is printed; 2 usage; 4 libabigail
# is missing.

set -eu
cd "$(dirname "$0")/.."
verb=${1:-} library=${2:-build/user/libepf.so.1}
known=user/lib/libepf.abi
new=$known.$$ said=$(mktemp)
trap 'rm -f "$new" "$said"' EXIT

# A comment in the first line would make abidiff refuse the file.
describe() {
	abidw --headers-dir user/lib --drop-private-types --exported-interfaces-only --drop-undefined-syms \
		--no-elf-needed --no-corpus-path --no-comp-dir-path --no-show-locs --no-write-default-sizes \
		--type-id-style hash "$library" |
		sed '1a <!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause -->\n<!-- Written by scripts/abi.sh renew. -->'
}

# The bits of abidiff's status: 1 and 2 an error, 4 a change, 8 a removal.
compare() {
	status=0
	abidiff --no-architecture --no-added-syms --leaf-changes-only --no-show-locs "$known" "$library" > "$said" ||
		status=$?
	[ $status -ne 0 ] || return 0
	[ $status -ne 4 ] || ! awk -f scripts/abi.awk user/lib/libepf.h "$said" || return 0
	cat "$said" >&2
	echo "abi: $library removes or changes something of $known (abidiff: $status): see above" >&2
	exit 1
}

if ! command -v abidiff > /dev/null; then
	echo 'abi: abidiff is missing: apt install abigail-tools' >&2
	exit 4
fi
# Without it abidiff compares names alone.
if ! readelf -SW "$library" | grep -q '\.debug_info'; then
	echo "abi: $library has no debug information: build it with -g" >&2
	exit 1
fi
case $verb in
check) compare ;;
renew)
	[ ! -e "$known" ] || compare
	describe > "$new"
	mv "$new" "$known"
	;;
*)
	echo 'usage: abi.sh check|renew [LIBRARY]' >&2
	exit 2
	;;
esac
