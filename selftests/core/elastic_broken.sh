#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of the elastic lines must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

ktap_plan 4 14
kind elastic 'elastic elastic_line'
whole
broken 'the guard does not count' \
	's/return f->shape.epochs + !(phase & 1);/return f->shape.epochs;/'
ktap_thorough broken 'the retired epoch counts' \
	's/epf_store_release(&f->phase, f->phase | 1);/;/'
ktap_thorough broken 'a test does not see how old a line is' \
	's/return lag + ((l->stamp - tag) & 7);/return (l->stamp - tag) \& 7;/'
broken 'an expired group stays when its tag comes round' \
	's/if (epf_elastic_age(l, lag, t) >= counted) {/if (0) {/'
ktap_thorough broken 'nothing is swept' 's/for (n = n < all ? n : all; at < all;/for (; at > all;/'
ktap_thorough broken 'the sweep empties all it visits' \
	's/if (epf_elastic_lag(f->phase, l.stamp) >=/if (1 ||/;s/^\t    epf_elastic_counted(f, f->phase)) {/\t    0) {/'
ktap_thorough broken 'the highest bit is dropped instead of the lowest' \
	's/epf_elastic_put(out.rest, top, v >> (was - is));/epf_elastic_put(out.rest, top, v \& epf_elastic_below(is));/'
ktap_thorough broken 'a new item is taken for the last of its bucket' \
	's/w->tag << 1 | !(\*bucket & bit));/w->tag << 1 | 1);/'
ktap_thorough broken 'remainders below a new one do not move' \
	's/w->rest\[k\] |= part >> width;/w->rest[k] |= part;/'
ktap_thorough broken 'an epoch without room is not accepted whole' \
	's/w->l.whole |= 1u << t;/;/'
ktap_thorough broken 'an epoch stays accepted whole' \
	's/l->whole &= ~(1u << t);/;/'
ktap_thorough broken 'a key with the bucket of another is taken for it' \
	's/w.l, p, lag))))/w.l, p, lag) + 1)))/'
broken 'the swept line stays locked' \
	's/epf_elastic_unlock(line + first, old, head);/;/'
ktap_finish
