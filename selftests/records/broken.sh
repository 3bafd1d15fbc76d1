#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the tests of records must notice: each variant is a reader with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
READREC=$tmp/readrec
export READREC

# usage: build FILE EDIT; an edit that changes nothing is an error
build() {
	rm -rf "$tmp/src"
	mkdir -p "$tmp/src/user" || return
	cp -r include "$tmp/src/" || return
	cp -r user/audit "$tmp/src/user/" || return
	sed -i "$2" "$tmp/src/$1" || return
	! cmp -s "$1" "$tmp/src/$1" || return
	top=$PWD
	# shellcheck disable=SC2046 # words
	(cd "$tmp/src/user/audit" && "$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -I. -I.. \
		-I../../include -I../../include/uapi $(pkg-config --cflags libfixbuf) \
		"$top/selftests/records/readrec.c" records.c record.c input.c text.c \
		json.c nfdump.c keytext.c wrong.c csv.c pcap.c capture.c ipfix.c \
		-o "$tmp/readrec" -ljansson -lcsv -lpcap $(pkg-config --libs libfixbuf))
}

# A claim fails and says so; a loop does not count.
claim_fails() {
	timeout 600 "selftests/records/$1.py" "$2" | grep '^not ok'
}

# usage: broken WHAT PROGRAM CASE FILE EDIT
broken() {
	if build "$4" "$5"; then
		ktap_check "$2: $1" claim_fails "$2" "$3"
	else
		ktap_fail "$2: $1" 'not built'
	fi
}

ktap_plan 7 25
ktap_thorough broken 'ports in the order of this machine' flows nfdump_model \
	user/audit/nfdump.c 's/to\[0\] = (__u8)(v >> 8)/to[0] = (__u8)v/'
broken 'addresses in the order of this machine' flows ipfix_by_hand \
	user/audit/ipfix.c 's/src = htonl(f->src4)/src = f->src4/'
ktap_thorough broken 'ICMP by the port alone' flows ipfix_by_hand \
	user/audit/ipfix.c 's/		both = v4 ? f->type4 << 8.*/		both = f->dport;/'
ktap_thorough broken 'ICMP with an identifier has a key' flows nfdump_model \
	include/epf/flow.h 's/if (epf_icmp_has_id(f.proto, r->id\[0\]))/if (0)/'
ktap_thorough broken 'ports count for every protocol' flows ipfix_by_hand \
	include/epf/flow.h 's/} else if (epf_has_ports(f.proto)) {/} else {/'
ktap_thorough broken 'peers need the id of ICMP' flows nfdump_made \
	include/epf/flow.h 's/if (o->key <= EPF_PKT_CONVERSATION) {/if (1) {/'
ktap_thorough broken 'the reverse of a record is the record' flows nfdump_made \
	include/epf/flow.h 's/epf_flow_turn(&f, o, false);/;/'
ktap_thorough broken 'ports of zero are told' flows nfdump_variants \
	user/audit/record.c 's/memcmp(flow->id, none, 4) ||/!memcmp(none, none, 4) ||/'
ktap_thorough broken 'a summary is of flows' flows nfdump_variants \
	user/audit/nfdump.c 's/nf->summary = true/nf->summary = false/'
ktap_thorough broken 'elements of an enterprise are like ours' flows ipfix_by_hand \
	user/audit/ipfix.c 's/if (!ie->ent \&\& !ie->midx/if (1/;s/ie->num == p->number\[j\]/(ie->num \& 0x7fff) == p->number[j]/'
broken 'withdrawn templates stay' flows ipfix_by_hand \
	user/audit/ipfix.c 's/\t\tfbSessionRemoveTemplate(p->session, FALSE, id, NULL);/\t\t(void)id;/'
ktap_thorough broken 'all that are withdrawn stay' flows ipfix_by_hand \
	user/audit/ipfix.c 's/\t\t\tfbSessionRemoveTemplate(p->session, FALSE, k->id, NULL);/\t\t\t(void)k;/'
broken 'templates for good' flows ipfix_bounds \
	user/audit/ipfix.c 's/k->p->fields -= k->fields;//'
ktap_thorough broken 'a template of any width' flows template_bounds \
	user/audit/ipfix_sets.h 's/count > WIDTH_MAX/count > 65535/'
ktap_thorough broken 'equal elements of two enterprises' flows template_bounds \
	user/audit/ipfix_sets.h 's/be32(field + 4) : 0/0 : 0/'
ktap_thorough broken 'what templates cost is not counted' flows bounded_calls \
	user/audit/ipfix.c 's/s->count.work += DEFINE_WORK \* /0 \& /'
broken 'blocks are skipped without end' flows bounded_calls \
	user/audit/capture.c 's/ \&\& in->done_bytes < until//'
ktap_thorough broken 'blocks that are skipped may end in any way' flows odd_blocks \
	user/audit/capture.c 's/!f->left \&\& memcmp/0 \&\& memcmp/'
broken 'packets without a key are not counted' flows mostly_keyless \
	user/audit/pcap.c 's/packets < REC_BATCH \&\& rec_goes_on(s, b)/b->n < REC_BATCH/;s/bytes += len;/bytes = p->used + len;/'
ktap_thorough broken 'interfaces of all sections count' flows many_interfaces \
	user/audit/capture.c 's/f->interfaces = 0;//'
ktap_thorough broken 'blanks are no part of a field' text csv_known \
	user/audit/csv.c 's/csv_set_space_func(&c->p, no_space);//'
broken 'a quoted newline ends a record' text csv_known \
	user/audit/csv.c 's/while (!c->ends \&\& !r->why \&\& r->len < left)/while (!r->len \&\& r->len < left)/'
ktap_thorough broken 'a field too few' text csv_bad \
	user/audit/csv.c 's/c->column\[i\] >= c->columns/c->column[i] > c->columns/'
ktap_thorough broken 'a line may be a byte longer' text long_lines \
	user/audit/csv.c 's/in->at) > REC_LINE_MAX)/in->at) > REC_LINE_MAX + 1)/'
broken 'null is a key' text json_known \
	user/audit/json.c 's/if (!one || json_is_null(one))/if (!one)/'
ktap_finish
