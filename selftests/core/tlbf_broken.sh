#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of kind tlbf must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

ktap_plan 5 18
kind tlbf tlbf aged
whole
broken 'slices expire a generation early' \
	's/now - f->shape.span_ns : 0/now - f->shape.span_ns + f->generation_ns : 0/'
broken 'slices do not expire' 's/return now > f->shape.span_ns ? .*/return now \& 0;/'
ktap_thorough broken 'a slice of now - T does not count' \
	's/n - 1)->last_ns < limit/n - 1)->last_ns <= limit/'
broken 'a slice is given back while it counts' \
	's/oldest->last_ns >= epf_tlbf_limit(f, now_ns)/& + f->generation_ns/'
ktap_thorough broken 'an idle filter does not age' 's/if (f->last_ns < limit)/if (!limit \&\& limit)/'
ktap_thorough broken 'a slice has the time when its last generation began' \
	's/s->last_ns = f->last_ns;/s->last_ns = epf_tlbf_at(f, 0)->begin_ns;/'
ktap_thorough broken 'time goes back' 's/return now_ns > f->now_ns ? .*/return now_ns;/'
broken 'generations do not end by time' \
	's/(g && f->shape.timed && age >= f->generation_ns)/age > ~0ULL - 1/'
ktap_thorough broken 'a generation ends by time after the key' \
	'/^EPF_FN void epf_tlbf_insert/,/^}/s/epf_tlbf_tick(f, now_ns);/f->now_ns = epf_tlbf_later(f, now_ns);/'
ktap_thorough broken 'only slice 0 limits a generation' 's/for (i = 0; i < k; i++)/for (i = 0; i < 1; i++)/'
ktap_thorough broken 'a generation takes a key too many' 's/return g >= f->quota/return g > f->quota/'
ktap_thorough broken 'the keys of older slices are not counted' \
	's/n = epf_tlbf_keys(f, i) + more/n = more/'
ktap_thorough broken 'the hash function goes with the age' 's/epf_word(digest, s->fn)/epf_word(digest, i)/'
ktap_thorough broken 'a key misses a slice' \
	's/for (i = 0; i < f->shape.k; i++)/for (i = 1; i < f->shape.k; i++)/'
ktap_thorough broken 'silence is taken for a low rate' \
	's/if (t > f->generation_ns)/if (!t \&\& t)/'
ktap_thorough broken 'one interval is taken for a rate' 's/t = t > least ? t : least;/least = 0;/'
ktap_thorough broken 'slices that are late are taken for an accident' \
	's/s->timed && g > f->quota/s->timed \&\& g > ~0ULL - 1/'
ktap_finish
