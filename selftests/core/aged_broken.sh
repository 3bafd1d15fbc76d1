#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The laws of the kinds made of slices that age must fail where the core is
# broken: each variant is the core with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: edited HEADER EDIT: the core, of which HEADER is edited, in $tmp/epf; an
# edit that changes nothing is an error
edited() {
	mkdir -p "$tmp/epf" &&
		cp include/epf/aged.h include/epf/apbf.h include/epf/apbbf.h "$tmp/epf" &&
		sed "$2" "include/epf/$1" > "$tmp/epf/$1" &&
		! cmp -s "include/epf/$1" "$tmp/epf/$1" &&
		sed 's/^#include "lanes.h"/#include <epf\/lanes.h>/' -i "$tmp/epf/aged.h"
}

build() {
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi -Iuser/libepf \
		"selftests/core/kind_$1.c" user/libepf/kinds/aged.c \
		user/libepf/kinds/apbf.c user/libepf/kinds/apbbf.c -o "$tmp/$1" -lm
}

# A law fails and says so; a crash does not count, nor does a loop.
law_fails() {
	timeout 60 "$1" laws | grep '^not ok'
}

# usage: broken KIND HEADER WHAT EDIT
broken() {
	if edited "$2" "$4" && build "$1"; then
		ktap_check "$1: $3" law_fails "$tmp/$1"
	else
		ktap_fail "$1: $3" 'not built'
	fi
}

ktap_plan 14
broken apbf aged.h 'the oldest generation does not count' \
	's/(int)(a->l - a->retired)/(int)a->l - 1/'
broken apbf aged.h 'the retired slice counts' \
	's/(int)(a->l - a->retired)/(int)a->l/'
broken apbf aged.h 'a jump of one slice too many' \
	's/q->at -= q->k;/q->at -= q->k + 1;/'
broken apbf aged.h 'the first run found is taken for the youngest' \
	's/q->at = first - 1;/q->at = -1;/'
broken apbf aged.h 'the ring turns the wrong way' \
	's/a->base = epf_aged_place(.*/a->base = epf_aged_place(a, 1);/'
broken apbf aged.h 'half of a slice is swept' \
	's/0, n \* sizeof/0, n \/ 2 * sizeof/'
broken apbf aged.h 'the youngest slice is swept' \
	's/word + place \* words/word + a->base * words/'
broken apbf aged.h 'a sweep skips a word' 's/? at + n : 0/? at + n + 1 : 0/'
broken apbf apbf.h 'the hash function goes with the age' \
	's/epf_word(digest, place)/epf_word(digest, i)/'
broken apbf apbf.h 'one hash function for all slices' \
	's/epf_word(digest, place)/epf_word(digest, 0)/'
broken apbf apbf.h 'a key misses a slice' 's/i < f->ring.k; i++/i + 1 < f->ring.k; i++/'
broken apbbf apbbf.h 'the hash function goes with the age' \
	's/epf_word(digest, 2 \* place + 1)/epf_word(digest, 2 * i + 1)/'
broken apbbf apbbf.h 'a key misses a slice' 's/i < f->ring.k; i++/i + 1 < f->ring.k; i++/'
broken apbbf apbbf.h 'all bits of a key are bit 0 of their part' \
	's/((__u32)\*x & (part - 1))/0/'
ktap_finish
