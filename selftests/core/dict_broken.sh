#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The laws of kind dict must fail where the core is broken: each variant is the
# core with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build EDIT: an edit that changes nothing is an error
build() {
	mkdir -p "$tmp/epf" &&
	sed "$1" include/epf/dict.h > "$tmp/epf/dict.h" &&
	! cmp -s include/epf/dict.h "$tmp/epf/dict.h" &&
	sed 's/^#include "lanes.h"/#include <epf\/lanes.h>/' -i "$tmp/epf/dict.h" &&
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi -Iuser/libepf \
		selftests/core/kind_dict.c user/libepf/kinds/dict.c \
		-o "$tmp/dict" -lm
}

# usage: broken WHAT EDIT
broken() {
	if build "$2"; then
		ktap_refuse "$1" "$tmp/dict" laws
	else
		ktap_fail "$1" 'not built'
	fi
}

# Built likewise, with another word in a comment.
whole() {
	build '2,4s/Kind/kind/' && "$tmp/dict" laws
}

ktap_plan 12
ktap_check whole whole
broken 'no scan' \
	'/^EPF_FN_BIG void epf_dict_visit/,/^}/s/^\tepf_dict_clean(.*;$//'
broken 'the scan leaves the spill marks' \
	's/epf_dict_clean_mark(f, bucket, EPF_DICT_SPILL);//'
broken 'the scan leaves the pass marks' \
	's/epf_dict_clean_mark(f, bucket, EPF_DICT_PASS);//'
broken 'a rotation does not wait for the scan' \
	's/return f->visited \* passes >= .*/return passes;/'
broken 'one cell a step' 's/f->due += EPF_DICT_SCAN;/f->due++;/'
broken 'the guard does not count' \
	's/return f->shape.generations + !f->retired;/return f->shape.generations;/'
broken 'the retired generation counts' 's/f->retired = 1;/f->retired = 0;/'
broken 'what overflows is forgotten' \
	's/epf_dict_mark(f, home->bucket, EPF_DICT_PASS);/;/'
broken 'a renewed key of the backyard does not renew the mark' \
	'/renew(f, &f->table\[1\], &p\[1\])/,/else/s/epf_dict_mark(.*;/;/'
broken 'stale cells are found' 's/^\t\t    epf_dict_live(f, cell))/\t\t    true)/'
broken 'one bucket of the backyard is not asked' \
	's/return a < b ? a : b;/return a;/'
ktap_finish
