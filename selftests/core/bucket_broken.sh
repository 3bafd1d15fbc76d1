#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of token buckets and meters must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

kind bucket bucket

build() {
	edited "$1" || return
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi \
		selftests/core/laws_bucket.c -o "$tmp/bucket" -pthread
}

ktap_plan 10
whole
broken 'a token costs less than its share' 's/(EPF_BUCKET_SECOND + rate - 1) \/ rate/EPF_BUCKET_SECOND \/ rate/'
broken 'the last token is kept back' 's/if (used > b->limit)/if (used >= b->limit)/'
broken 'a token more than the burst' 's/if (used > b->limit)/if (used > b->limit + b->cost)/'
broken 'what was not taken is saved for ever' 's/now + used))/old + b->cost))/'
broken 'a past point in time is far ahead' 's/return ahead >> 63 ? 0 : ahead;/return ahead;/'
broken 'two take the same token' 's/if (epf_cas(word, &old, now + used))/*word = now + used;/'
broken 'without a rate time goes on' 's/b->runs = rate ? ~0ULL : 0;/b->runs = ~0ULL;/'
broken 'a level has no top' 's/if (level > b->top)/if (0)/'
broken 'CPUs keep all of the burst' 's/(4 \* (__u64)cpus)/((__u64)cpus)/'
ktap_finish
