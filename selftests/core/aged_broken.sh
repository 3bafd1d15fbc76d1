#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of the kinds made of slices that age must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

ktap_plan 6 16
kind apbf 'aged apbf' 'aged'
whole
broken 'the oldest generation does not count' \
	's/(int)(a->l - a->retired)/(int)a->l - 1/'
broken 'the retired slice counts' \
	's/(int)(a->l - a->retired)/(int)a->l/'
ktap_thorough broken 'a jump of one slice too many' \
	's/q->at -= q->k;/q->at -= q->k + 1;/'
broken 'the first run found is taken for the youngest' \
	's/q->at = first - 1;/q->at = -1;/'
ktap_thorough broken 'the ring turns the wrong way' \
	's/a->base = epf_aged_place(.*/a->base = epf_aged_place(a, 1);/'
ktap_thorough broken 'half of a slice is swept' \
	's/0, n \* sizeof/0, n \/ 2 * sizeof/'
ktap_thorough broken 'the youngest slice is swept' \
	's/word + place \* words/word + a->base * words/'
ktap_thorough broken 'a sweep skips a word' 's/? at + n : 0/? at + n + 1 : 0/'
ktap_thorough broken 'the hash function goes with the age' \
	's/epf_word(digest, place)/epf_word(digest, i)/'
ktap_thorough broken 'one hash function for all slices' \
	's/epf_word(digest, place)/epf_word(digest, 0)/'
ktap_thorough broken 'a key misses a slice' 's/i < f->ring.k; i++/i + 1 < f->ring.k; i++/'
kind apbbf 'aged apbbf' 'aged apbf'
whole
ktap_thorough broken 'the hash function goes with the age' \
	's/epf_word(digest, 2 \* place + 1)/epf_word(digest, 2 * i + 1)/'
broken 'a key misses a slice' 's/i < f->ring.k; i++/i + 1 < f->ring.k; i++/'
ktap_thorough broken 'all bits of a key are bit 0 of their part' \
	's/((__u32)\*x & (part - 1))/0/'
ktap_finish
