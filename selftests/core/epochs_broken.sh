#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of the kinds made of guarded epochs must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

ktap_plan 10
kind ge ge
whole
broken 'the guard does not count' \
	's/return f->shape.epochs + !f->retired;/return f->shape.epochs;/'
broken 'the retired epoch counts' 's/f->retired = 1;/f->retired = 0;/'
broken 'the current segment is swept' \
	's/epf_ge_segment(f, f->shape.epochs);/f->now;/'
broken 'every other word is swept' 's/at < to; at++/at < to; at += 2/'
kind gebl gebl ../cover
whole
broken 'the guard does not count' \
	's/return f->shape.epochs + !f->retired;/return f->shape.epochs;/'
broken 'the retired epoch counts' 's/f->retired = 1;/f->retired = 0;/'
broken 'the current segment is swept' \
	's/epf_gebl_segment(f, f->shape.epochs);/f->now;/'
broken 'every other word is swept' 's/at < to; at++/at < to; at += 2/'
ktap_finish
