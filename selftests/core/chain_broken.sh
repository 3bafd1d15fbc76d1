#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of kind chain must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

ktap_plan 9 33
kind chain chain '../size ../cover'
whole
broken 'an epoch is an eighth of T' \
	's/EPF_LIVE_EPOCHS - 1) \/ EPF_LIVE_EPOCHS/EPF_LANES - 1) \/ EPF_LANES/'
broken 'a table is given back an epoch early' \
	's/return epoch - f->table\[i\].last < EPF_LANES/return epoch - f->table[i].last < EPF_LIVE_EPOCHS/'
ktap_thorough broken 'no table is given back' \
	's/return epoch - f->table\[i\].last < EPF_LANES/return epoch >= f->table[i].last/'
broken 'old tables are not asked' 's/i < f->nr && e - f/i < 1 \&\& e - f/'
ktap_thorough broken 'keys go to the oldest table' \
	'/^EPF_FN_BIG void epf_chain_insert/,/^}/s/epf_chain_lanes(f, 0)/epf_chain_lanes(f, f->nr - 1)/'
ktap_thorough broken 'the last insertion is not noted' \
	'/^EPF_FN_BIG void epf_chain_insert/,/^}/s/f->table\[0\].last = f->epoch;//'
ktap_thorough broken 'a new table has no last insertion' \
	'/^EPF_FN_BIG void epf_chain_switch/,/^}/s/f->table\[0\].last = f->epoch;//'
ktap_thorough broken 'a new table has not been scanned for long' \
	's/f->table\[0\].scanned = f->epoch;//'
ktap_thorough broken 'the scan visits the same lines' 's/t->scanned % EPF_SCAN_CHUNKS \* chunk/0 * chunk/'
broken 'the epoch does not wait for the scan' \
	's/f->table\[i\].scanned + EPF_SCAN_LAG < limit/limit < 1/'
ktap_thorough broken 'a gap ends epochs afterwards' \
	's/f->start_ns += ns - ns % f->epoch_ns/f->start_ns += f->epoch_ns/'
ktap_thorough broken 'epochs that waited are shorter' \
	'/^EPF_FN_BIG void epf_chain_tick/,/^}/{
	s/f->now_ns = epf_chain_later(f, now_ns);/&\n\tnow_ns = e - f->epoch;/
	s/f->start_ns += .*/f->start_ns += now_ns * f->epoch_ns;/
	}'
ktap_thorough broken 'an epoch does not end before the key' \
	'/^EPF_FN_BIG void epf_chain_insert/,/^}/s/epf_chain_tick(f, now_ns);/f->now_ns = epf_chain_later(f, now_ns);/'
broken 'time goes back' 's/return now_ns > f->now_ns ? .*/return now_ns;/'
ktap_thorough broken 'a test needs the time told' \
	'/^EPF_FN_BIG int epf_chain_look/,/^}/s/epf_chain_epoch(f, now_ns)/f->epoch + now_ns * 0/'
ktap_thorough broken 'counts of lanes go on for ever' 's/f->table\[0\].keys\[e & 7\] = 0;/;/'
broken 'a table takes a key too many' 's/return b > n ? b - n : 0;/return b >= n ? b - n + 1 : 0;/'
ktap_thorough broken 'a spare is used before it is needed' \
	's/return !epf_chain_room(f, f->now_ns);/return f->spare.lines;/'
ktap_thorough broken 'the chain grows by twice only' 's/(f->nr > 1 ? 4 : 2)/2/'
broken 'a rate is that of the epoch' \
	's/r.keys = f->taken - f->mark\[1\].taken;/r.keys = 0;/'
ktap_thorough broken 'a rate is that of the epoch and the one before' \
	's/r.keys < EPF_CHAIN_SAMPLE_KEYS)/r.keys < ~0ULL)/;s/r.keys < EPF_CHAIN_SAMPLE_KEYS && /r.keys < ~0ULL \&\& /'
ktap_thorough broken 'keys at once are taken for a rate' 's/if (r.ns < least)/if (!least)/'
ktap_thorough broken 'a gap is part of a sample' 's/old < 2 \* part ? f->mark\[0\] : now;/f->mark[0];/'
broken 'nothing is left for chance' 's/r.keys \*= 5;/r.keys *= 4;/'
ktap_thorough broken 'what is left of the epoch is not thought of' \
	's/epf_chain_above(&r, left, room);/false;/;s/__u64 left = .*/(void)age;/;s/__u64 room = /const &/'
ktap_thorough broken 'epochs without keys are quiet' 's/} else if (got) {/} else {/'
ktap_thorough broken 'one quiet epoch makes a filter low' 's/f->quiet >= EPF_LANES/f->quiet >= 1/'
ktap_thorough broken 'the filter of a new table is low' 's/^	f->quiet = 0;/	;/'
ktap_thorough broken 'a filter is never low' 's/return f->quiet >= EPF_LANES/return f->quiet >= ~0ULL/'
ktap_thorough broken 'a spare that the rate has outgrown is kept' \
	's/return epf_chain_fitting(f, epf_chain_rate(f, now)) >/return 0 \&\& 0 >/'
ktap_thorough broken 'a spare is kept for ever' 's/f->epoch - f->wanted > 1/f->epoch < f->wanted/'
ktap_thorough broken 'a spare that is too small is kept' \
	'/^EPF_FN_BIG bool epf_chain_useless/,/^}/s/return f->spare.lines;/return false;/'
ktap_finish
