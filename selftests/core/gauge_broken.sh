#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the test of the gauge must notice: each variant is the gauge with one
# edit, and is tried with the kind it is of.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

flags='-O1 -std=gnu11 -Iinclude/uapi -Iuser/libepf'

# What predicts does not know the gauge.
for file in cover kinds/ge kinds/gebl kinds/aged kinds/apbf kinds/apbbf \
	kinds/tlbf kinds/dict; do
	# shellcheck disable=SC2086 # a list
	"$CC" $flags -Iinclude -c "user/libepf/$file.c" \
		-o "$tmp/${file##*/}.o" || exit 1
done

build() {
	edited "$1" || return
	# shellcheck disable=SC2086 # a list
	"$CC" $flags "-I$tmp" -Iinclude selftests/core/gauge.c "$tmp"/*.o \
		-o "$tmp/gauge" -lm
}

law_fails() {
	says '^not ok' "$tmp/gauge" "$name"
}

# usage: at FUNCTION EDIT: within that function only
at() {
	printf '/%s(/,/^}/%s' "$1" "$2"
}

ktap_plan 7 22
kind ge gauge_epochs
broken 'the guard is left out' \
	"$(at epf_ge_gauge_q56 's/epf_ge_counted(f));/epf_ge_counted(f) - 1);/')"
ktap_thorough broken 'one position fewer' \
	"$(at epf_ge_gauge_span 's/, s->bits);/, s->bits - 1);/')"
ktap_thorough broken 'double hashing costs nothing' 's/all += epf_ge_gauge_more/epf_ge_gauge_more/'
ktap_thorough broken 'one segment for all' "$(at epf_ge_gauge 's/epf_ge_segment(f, age)/f->now/')"
ktap_thorough broken 'one column for all' \
	"$(at epf_ge_gauge_cells 's/epf_ge_segment(f, age)/f->now/')"
kind gebl gauge_epochs
ktap_thorough broken 'the guard is left out' \
	"$(at epf_gebl_gauge_distinct 's/epf_gebl_counted(f)/epf_gebl_counted(f) - 1/')"
broken 'one position fewer' 's/set\[age\], f->shape.bits)/set[age], f->shape.bits - 1)/'
ktap_thorough broken 'double hashing taken for distinct positions' \
	's/f->shape.offsets == EPF_GEBL_DOUBLE/g->turn/'
broken 'double hashing, epochs added' \
	"$(at epf_gebl_gauge_double 's/any\[w\] |= starts\[w\]/sum += epf_popcount(starts[w])/')"
kind gebl 'gauge_epochs gauge_aged gauge_dict gauge gebl'
ktap_thorough broken 'positions may coincide' 's/(n - i) \* inverse\[i\]/n * inverse[0]/'
kind apbf gauge_aged
broken 'k - 1 in a row' "$(at epf_row_q56 's/row.k)/row.k - 1)/')"
ktap_thorough broken 'the retired slice counts' 's/return a->k + a->l - a->retired;/return a->k + a->l;/'
ktap_thorough broken 'runs are added as if they were independent' \
	's/= epf_mul_q56(none, EPF_Q56_ONE - hit)/= EPF_Q56_ONE/'
kind apbbf gauge_aged
broken 'one part fewer' \
	"$(at epf_apbbf_gauge_block 's/j < f->shape.bits/j < f->shape.bits - 1/')"
ktap_thorough broken 'blocks equally full' \
	's/, f->shape.block_bits)/, f->shape.bits)/; s/return b ? .*/return b ? epf_pow_q56(epf_gauge_fill(g, layer), b) :/'
kind tlbf gauge_aged
broken 'slices that count no more do' 's/epf_tlbf_live(f, now_ns)/f->nr/'
ktap_thorough broken 'k - 1 in a row' "$(at epf_row_q56 's/row.k)/row.k - 1)/')"
kind dict gauge_dict
broken 'pass marks do not tell' 's/g->chance\[pass\] += EPF_GAUGE_ONE;/;/'
ktap_thorough broken 'cells of passed buckets count twice' 's/home - g->passed_cells/home/'
ktap_thorough broken 'the backyard is left out' 's/if (asks > there)/if (0)/'
ktap_thorough broken 'one bucket of the backyard' 's/epf_either_q56(one, one)/one/'
ktap_thorough broken 'stale cells count' \
	's/!epf_dict_live(f, tag)/0/; s/age < epf_dict_counted(f); age++/age < 256; age++/'
ktap_finish
