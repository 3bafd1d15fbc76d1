#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What known answers and laws of digests must notice: each variant is the core with
# one edit of hash.h.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build EDIT; one that changes nothing is an error
build() {
	rm -rf "$tmp/include" && cp -r include "$tmp" || return
	sed "$1" include/epf/hash.h > "$tmp/include/epf/hash.h" || return
	! cmp -s include/epf/hash.h "$tmp/include/epf/hash.h" || return
	"$CC" -O1 -std=gnu11 -I"$tmp/include" -Iinclude/uapi \
		selftests/core/kat.c -o "$tmp/kat"
}

# usage: broken WHAT EDIT
broken() {
	if build "$2"; then
		ktap_check "nh: $1" says '^not ok .* nh' "$tmp/kat"
	else
		ktap_fail "nh: $1" 'not built'
	fi
}

ktap_plan 4 9
build '2s/$/ /' && ktap_check 'built likewise, the answers are right' "$tmp/kat"
broken 'one pass only' 's/^\tepf_sip_word(s, s->nh\[1\]);//'
ktap_thorough broken 'the length is left out' 's/s->tail = (__u32)s->len;/s->tail = 0;/'
ktap_thorough broken 'both passes have the same key words' 's/(m + k\[1\])/(m + k[0])/; s/(k\[1\] >> 32)/(k[0] >> 32)/'
ktap_thorough broken 'the key is shifted by half a word' 's/(m + k\[1\])/(m + (k[0] >> 32))/; s/(k\[1\] >> 32)/k[1]/'
ktap_thorough broken 'a block that is not full is left out' 's/^\tif ((rest + 7) \/ 8 % EPF_NH_WORDS)/\tif (0)/'
broken 'the last bytes are left out' 's/^\tif (rest & 7)/\tif (0)/'
broken 'sums of a block go on in the next' 's/^\ts->nh\[0\] = 0;//'
ktap_thorough broken 'blocks of 128 bytes' 's/EPF_NH_BLOCK 256u/EPF_NH_BLOCK 128u/'
ktap_finish
