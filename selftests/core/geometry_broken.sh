#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What laws_pure must notice in the geometry, and in a lane that gets another number.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

build() {
	edited "$1" && "$CC" -O2 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi \
		selftests/core/laws_pure.c -o "$tmp/$name" -lm
}

ktap_plan 5 9
kind laws_pure 'kat window lanes geometry hash shim'
whole
broken 'the low half as it is' 's/return w ^ w >> 32;/return w;/'
ktap_thorough broken 'the high half alone' 's/return w ^ w >> 32;/return w >> 32;/'
broken 'a line by the low half' 's/(w >> 32) \* g->part_lines/(w \& 0xffffffff) * g->part_lines/'
ktap_thorough broken 'one word for all parts' 's/0xd1342543de82ef95ULL/1ULL/'
ktap_thorough broken 'fields that overlap' 's/x >> EPF_FIELD_SHIFT/x >> 5/'
ktap_thorough broken 'what names no position stays' 's/ \& ~EPF_TAG_MASK;/;/'
broken 'a lane without positions is dropped by a merge' \
	's/if ((v & EPF_TAG_MASK) != epf_tag(from))/if (!epf_positions(v) || (v \& EPF_TAG_MASK) != epf_tag(from))/'
broken 'a field too many' 's/~0u << EPF_FIELD_SHIFT \* bits/0/'
ktap_finish
