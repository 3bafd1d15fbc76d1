#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What touches must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

build() {
	edited "$1" || return
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi \
		"selftests/core/$name.c" -o "$tmp/$name"
}

ktap_plan 7
kind touches window
whole
broken 'more is kept than what is left' \
	's/level == EPF_LEVEL_CPU ? 4 : 2/1/'
broken 'what is kept is not deducted before the next look' \
	's/__u64 more = rest - epf_pace_kept(p, rest);/__u64 more = rest;/'
broken 'CPUs add to the count without groups' \
	's/p->keepers\[EPF_LEVEL_GROUP\] = groups > 1 ? groups : 0;/p->keepers[EPF_LEVEL_GROUP] = 0;/'
broken 'CPUs keep too little' 's/EPF_KEEP_SHARE 16u/EPF_KEEP_SHARE 64u/'
broken 'a group passes on less than it takes out' \
	's/\*flush = sum < batch ? 0 : sum;/*flush = sum < batch ? 0 : batch;/'
broken 'each CPU keeps the share of all' 's/EPF_KEEP_SHARE \/ n : 0/EPF_KEEP_SHARE : 0/'
ktap_finish
