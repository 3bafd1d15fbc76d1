#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The laws of the elastic lines must fail where the core is broken: each variant
# is the core with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build EDIT: an edit that changes nothing is an error
build() {
	mkdir -p "$tmp/epf" || return 1
	for header in elastic elastic_line; do
		sed "$1" "include/epf/$header.h" > "$tmp/epf/$header.h" || return 1
	done
	cmp -s include/epf/elastic.h "$tmp/epf/elastic.h" &&
		cmp -s include/epf/elastic_line.h "$tmp/epf/elastic_line.h" &&
		return 1
	sed 's/^#include "lanes.h"/#include <epf\/lanes.h>/' \
		-i "$tmp/epf/elastic_line.h" &&
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi -Iuser/libepf \
		selftests/core/kind_elastic.c user/libepf/kinds/elastic.c \
		-o "$tmp/elastic" -lm
}

# A law fails and says so; a crash does not count, nor does a loop.
law_fails() {
	timeout 10 "$tmp/elastic" laws | grep '^not ok'
}

# usage: broken WHAT EDIT
broken() {
	if build "$2"; then
		ktap_check "$1" law_fails
	else
		ktap_fail "$1" 'not built'
	fi
}

# Built likewise, with another word in a comment.
whole() {
	build '2,4s/Kind/kind/' && "$tmp/elastic" laws
}

ktap_plan 14
ktap_check 'whole' whole
broken 'the guard does not count' \
	's/return f->shape.epochs + !(phase & 1);/return f->shape.epochs;/'
broken 'the retired epoch counts' \
	's/epf_store_release(&f->phase, f->phase | 1);/;/'
broken 'a test does not see how old a line is' \
	's/return lag + ((l->stamp - tag) & 7);/return (l->stamp - tag) \& 7;/'
broken 'an expired group stays when its tag comes round' \
	's/if (epf_elastic_age(l, lag, t) >= counted) {/if (0) {/'
broken 'nothing is swept' 's/for (n = n < all ? n : all; at < all;/for (; at > all;/'
broken 'the sweep empties all it visits' \
	's/if (epf_elastic_lag(f->phase, l.stamp) >=/if (1 ||/;s/^\t    epf_elastic_counted(f, f->phase)) {/\t    0) {/'
broken 'the highest bit is dropped instead of the lowest' \
	's/epf_elastic_put(out.rest, top, v >> (was - is));/epf_elastic_put(out.rest, top, v \& epf_elastic_below(is));/'
broken 'a new item is taken for the last of its bucket' \
	's/w->tag << 1 | !(\*bucket & bit));/w->tag << 1 | 1);/'
broken 'remainders below a new one do not move' \
	's/w->rest\[k\] |= part >> width;/w->rest[k] |= part;/'
broken 'an epoch without room is not accepted whole' \
	's/w->l.whole |= 1u << t;/;/'
broken 'an epoch stays accepted whole' \
	's/l->whole &= ~(1u << t);/;/'
broken 'a key with the bucket of another is taken for it' \
	's/w.l, p, lag))))/w.l, p, lag) + 1)))/'
broken 'the swept line stays locked' \
	's/epf_elastic_unlock(line + first, old, head);/;/'
ktap_finish
