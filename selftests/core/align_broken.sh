#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of aligned windows must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

kind align window

build() {
	edited "$1" || return
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi \
		selftests/core/laws_align.c -o "$tmp/align"
}

ktap_plan 8
whole
broken 'a pitch without spare' 's/return epoch_ns + (epoch_ns >> 6) + 1;/return epoch_ns;/'
broken 'an epoch ends at the next multiple, however short it is' \
	's/return 2 \* pitch - past;/return pitch - past;/'
broken 'an epoch near a multiple ends on time, however late it began' \
	's/pitch - past : w->epoch_ns;/pitch - past : pitch - past;/'
broken 'nothing is near' 's/return pitch >> 3;/return 0;/'
broken 'everything is near' 's/return pitch >> 3;/return pitch;/'
broken 'the first epoch has the length of all' 's/if (first)/if (first \&\& !pitch)/'
broken 'every epoch may be short' 's/if (first)/if (first || past)/'
ktap_finish
