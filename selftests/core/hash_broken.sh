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

ktap_plan 4 12
build '2s/$/ /' && ktap_check 'built likewise, the answers are right' "$tmp/kat"
broken 'the high half of a sum is left out' 's/^\tepf_sip_word(s, epf_sum_high(&s->nh));//'
ktap_thorough broken 'the length is left out' 's/^\ts->tail = s->len;/\ts->tail = 0;/; s/^\ts.tail = all;/\ts.tail = 0;/'
ktap_thorough broken 'both words of a pair have one key word' 's/epf_get_le64(p + 8) + k\[1\]/epf_get_le64(p + 8) + k[0]/'
ktap_thorough broken 'all pairs of a run have the same key words' 's/k + 2 \* i, p + 16/k, p + 16/'
ktap_thorough broken 'a last word is a pair without a key word of its own' 's/, k\[1\]);$/, 0);/'
broken 'the last bytes are left out' 's/^\tif (rest)/\tif (0)/'
broken 'sums of a block go on in the next' '/^EPF_FN void epf_nh_seal/,/^}/s/^\tepf_sum_zero(&s->nh);//'
ktap_thorough broken 'a block does not end' 's/^\tif (at \&\& at % EPF_NH_WORDS == 0)/\tif (0)/; s/if (!room/if (0/'
ktap_thorough broken 'blocks of 256 bytes' 's/EPF_NH_BLOCK 512u/EPF_NH_BLOCK 256u/'
ktap_thorough broken 'key words are digests of short keys' 's/EPF_NH_KEY 254u/EPF_NH_KEY 4u/'
ktap_thorough broken 'compressed keys end as short ones do' 's/EPF_NH_END 255u/EPF_NH_END 20u/'
ktap_finish
