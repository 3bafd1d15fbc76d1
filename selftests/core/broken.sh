# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# For *_broken.sh to source: the laws of a kind must fail where its core is
# broken. Each variant is the core with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: kind NAME 'HEADER...' ['FILE...']: what the next edits are of, and the
# files of user/libepf/kinds that it needs beside its own
kind() {
	name=$1 headers=$2 files="$1 ${3:-}"
}

# The headers with an edit, in $tmp/epf; one that changes nothing is an error.
edited() {
	changed=
	rm -rf "$tmp/epf" && mkdir "$tmp/epf" || return
	for header in $headers; do
		sed "$1" "include/epf/$header.h" > "$tmp/epf/$header.h" || return
		cmp -s "include/epf/$header.h" "$tmp/epf/$header.h" || changed=1
		sed -i 's/^#include "\(.*\)"/#include <epf\/\1>/' "$tmp/epf/$header.h"
	done
	[ -n "$changed" ]
}

build() {
	edited "$1" || return
	set --
	for file in $files; do
		set -- "$@" "user/libepf/kinds/$file.c"
	done
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi -Iuser/libepf \
		"selftests/core/kind_$name.c" "$@" -o "$tmp/$name" -lm
}

# A law fails and says so; a crash does not count, nor does a loop.
law_fails() {
	says '^not ok' "$tmp/$name" laws
}

# usage: broken WHAT EDIT
broken() {
	if build "$2"; then
		ktap_check "$name: $1" law_fails
	else
		ktap_fail "$name: $1" 'not built'
	fi
}

# Built likewise, with a blank more in a comment, the laws hold.
whole() {
	if build '2s/$/ /'; then
		ktap_check "$name: whole" "$tmp/$name" laws
	else
		ktap_fail "$name: whole" 'not built'
	fi
}
