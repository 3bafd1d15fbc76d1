#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of parameters and of the sample must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

build() {
	edited "$1" || return
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude -Iinclude/uapi \
		selftests/core/params.c -o "$tmp/params"
}

ktap_plan 9
kind params params
whole
broken 'any hash' 's/p->hash > EPF_HASH_MAX/0/'
broken 'a budget above the limit' 's/ || p->budget_ppt > p->limit_ppt//'
broken 'lanes of any shape' 's/return err ? err : epf_params/return epf_params/'
broken 'an owned kind with the shape of lanes' 's/p->nr_lines || p->lines_per_key || p->bits_per_key/0/'
broken 'the shape before the kind' 's/if (p->kind != EPF_KIND_LANES)/if (p->budget_ppt \&\& p->kind != EPF_KIND_LANES)/'
kind params estimate
broken 'the first lines only' 's/(s->lines \* lines + offset) \/ all/s->lines/'
broken 'no offset' 's/offset = random % lines/offset = 0 * random/'
broken 'a run too many' 's/for (; nr \&\& s->lines < all; nr--)/for (; nr; nr--)/'
ktap_finish
