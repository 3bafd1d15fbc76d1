#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the test of rooms.h must notice: the core with one edit, tried with the kind
# it is of. What plans is the library as it is.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

lib=${BUILD:-build}/user/libepf.a
[ -e "$lib" ] || ktap_skip_all "$lib is not built"

# All of the core, as its headers include one another.
edited() {
	rm -rf "$tmp/epf" && cp -r include/epf "$tmp/epf" || return
	sed -i "$1" "$tmp/epf/$headers.h" || return
	! cmp -s "include/epf/$headers.h" "$tmp/epf/$headers.h"
}

build() {
	edited "$1" || return
	sed 's|#include "../owned.h"|#include "selftests/owned.h"|
		s|#include "tap.h"|#include "selftests/core/tap.h"|' \
		selftests/core/rooms.c > "$tmp/rooms.c"
	"$CC" -O1 -std=gnu11 "-I$tmp" -Iinclude/uapi -Iuser/libepf -I. \
		"$tmp/rooms.c" "$lib" -o "$tmp/rooms" -lm -lxxhash -pthread
}

law_fails() {
	says '^not ok' "$tmp/rooms" "$name"
}

# usage: at FUNCTION EDIT: within that function only
at() {
	printf '/%s(/,/^}/%s' "$1" "$2"
}

ktap_plan 7 17
kind ge rooms
broken 'the other epochs do not count' "$(at epf_ge_set_room 's/age = 1;/age = 99;/')"
ktap_thorough broken 'one position fewer' "$(at epf_ge_bits_at 's/f->shape.bits)/f->shape.bits - 1)/')"
kind ge ge
ktap_thorough broken 'set bits count again' "$(at epf_ge_set 's/return false;/return true;/')"
ktap_thorough broken 'an epoch keeps what the one before it had' \
	"$(at epf_ge_advance 's/epf_room_next(f->room, f->now);/f->room->stale = 1;/')"
kind gebl rooms
ktap_thorough broken 'the other epochs do not count' "$(at epf_gebl_set_room 's/age = 1;/age = 99;/')"
kind gebl gebl
broken 'positions may coincide' 's/(n - i) \* inverse\[i\]/n * inverse[0]/'
ktap_thorough broken 'only what was there counts' \
	"$(at epf_gebl_insert 's/epf_gebl_chance(f, block, digest) - before/before - before/')"
kind apbf rooms
ktap_thorough broken 'runs of slices that take none do not count' \
	"$(at epf_front_begin 's/row->fixed += q;/;/')"
broken 'a run has to begin at slice 0' "$(at epf_front_error 's/a + s->k > s->nr/a/')"
kind apbf apbf
ktap_thorough broken 'one slice counts' \
	"$(at epf_apbf_insert 's/!(\*word & mask));/!i \&\& !(*word \& mask));/')"
kind apbbf rooms
ktap_thorough broken 'twice as many blocks' \
	"$(at epf_apbbf_set_room 's/(r, f->shape.nr_blocks)/(r, 2 * f->shape.nr_blocks)/')"
kind apbbf apbbf
broken 'one part fewer' "$(at epf_apbbf_chance 's/j < f->shape.bits/j < f->shape.bits - 1/')"
kind dict dict
ktap_thorough broken 'a bucket that overflows is one cell' \
	"$(at epf_dict_pass 's/epf_dict_passes(f));/1);/')"
broken 'what is seen again counts twice' \
	"$(at epf_dict_take 's/f->room->grown -= cells;//; s/\*was -= .*/;/')"
kind tlbf tlbf
broken 'one slice counts' "$(at epf_tlbf_insert 's/if (f->room \&\&/if (f->room \&\& !i \&\&/')"
kind chain rooms
ktap_thorough broken 'a small table takes as many as a large one' "$(at epf_chain_scale 's/shift++/break/')"
broken 'older epochs do not count' \
	"$(at epf_chain_set_room 's/e = f->epoch - EPF_LIVE_EPOCHS/e = f->epoch/')"
ktap_finish
