#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The laws of the kinds made of guarded epochs must fail where the core is
# broken: each variant is the core with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build KIND EDIT: an edit that changes nothing is an error
build() {
	mkdir -p "$tmp/epf" &&
	sed "$2" "include/epf/$1.h" > "$tmp/epf/$1.h" &&
	! cmp -s "include/epf/$1.h" "$tmp/epf/$1.h" &&
	sed 's/^#include "lanes.h"/#include <epf\/lanes.h>/' -i "$tmp/epf/$1.h" &&
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi -Iuser/libepf \
		"selftests/core/kind_$1.c" "user/libepf/kinds/$1.c" \
		user/libepf/kinds/cover.c -o "$tmp/$1" -lm
}

# usage: broken KIND WHAT EDIT
broken() {
	if build "$1" "$3"; then
		ktap_refuse "$1: $2" "$tmp/$1" laws
	else
		ktap_fail "$1: $2" 'not built'
	fi
}

# usage: whole KIND: built likewise, with another word in a comment
whole() {
	build "$1" '2,4s/Kind/kind/' && "$tmp/$1" laws
}

ktap_plan 10
for kind in ge gebl; do
	ktap_check "$kind: whole" whole "$kind"
done
broken ge 'the guard does not count' \
	's/return f->shape.epochs + !f->retired;/return f->shape.epochs;/'
broken ge 'the retired epoch counts' 's/f->retired = 1;/f->retired = 0;/'
broken ge 'the current segment is swept' \
	's/epf_ge_segment(f, f->shape.epochs);/f->now;/'
broken ge 'every other word is swept' 's/at < to; at++/at < to; at += 2/'
broken gebl 'the guard does not count' \
	's/return f->shape.epochs + !f->retired;/return f->shape.epochs;/'
broken gebl 'the retired epoch counts' 's/f->retired = 1;/f->retired = 0;/'
broken gebl 'the current segment is swept' \
	's/epf_gebl_segment(f, f->shape.epochs);/f->now;/'
broken gebl 'every other word is swept' 's/at < to; at++/at < to; at += 2/'
ktap_finish
