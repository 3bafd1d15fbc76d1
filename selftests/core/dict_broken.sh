#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of kind dict must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

ktap_plan 4 12
kind dict dict
whole
broken 'no scan' \
	'/^EPF_FN_BIG void epf_dict_tidy/,/^}/s/^\tepf_dict_clean(.*;$//'
ktap_thorough broken 'the scan leaves the spill marks' \
	's/epf_dict_clean_mark(f, bucket, EPF_DICT_SPILL);//'
ktap_thorough broken 'the scan leaves the pass marks' \
	's/epf_dict_clean_mark(f, bucket, EPF_DICT_PASS);//'
ktap_thorough broken 'a rotation does not wait for the scan' \
	's/return f->visited \* passes >= .*/return passes;/'
ktap_thorough broken 'one cell a step' 's/f->due += EPF_DICT_SCAN;/f->due++;/'
broken 'the guard does not count' \
	's/return f->shape.generations + !f->retired;/return f->shape.generations;/'
ktap_thorough broken 'the retired generation counts' 's/f->retired = 1;/f->retired = 0;/'
broken 'what overflows is forgotten' \
	's/epf_dict_mark(f, bucket, EPF_DICT_PASS);/;/'
ktap_thorough broken 'a renewed key of the backyard does not renew the mark' \
	'/renew(f, &f->table\[1\], &p\[1\])/,/else/s/epf_dict_mark(.*;/;/'
ktap_thorough broken 'stale cells are found' 's/^\t\t    epf_dict_live(f, cell))/\t\t    true)/'
ktap_thorough broken 'one bucket of the backyard is not asked' \
	's/return a < b ? a : b;/return a;/'
ktap_finish
