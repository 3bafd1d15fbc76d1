#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What digest.sh must notice: each variant is the program with one edit, of it or
# of the core in it.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CLANG=${CLANG:-clang}
built=${BUILD:-$PWD/build}/selftests/bpf
command -v "$CLANG" > /dev/null || ktap_skip_all "no $CLANG"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

bare='-DEPF_NO_PERFMON -mllvm -no-stack-slot-sharing' # as ../../bpf/Makefile has it
flags=

# usage: build FILE EDIT; FILE below the root; an edit that changes nothing is an
# error
# shellcheck disable=SC2086 # $flags are several
build() {
	rm -rf "${tmp:?}"/* && mkdir -p "$tmp/selftests" || return
	cp -r include bpf "$tmp" && cp -r selftests/bpf "$tmp/selftests" || return
	sed "$2" "$1" > "$tmp/$1" || return
	! cmp -s "$1" "$tmp/$1" || return
	"$CLANG" -target bpf -mcpu=v3 -O2 -g $flags -I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/selftests/bpf/digest.bpf.c" -o "$tmp/digest.bpf.o"
}

ask() {
	"$built/digest" "$tmp/digest.bpf.o" "$built/stacks.bin" "$built/first.bpf.o" > "$tmp/out" 2>&1
}

# It loads, and a law fails.
law_fails() {
	ask
	grep -q '^ok 1 - digest: ' "$tmp/out" && grep -m 1 '^not ok' "$tmp/out"
}

# usage: broken WHAT FILE EDIT
broken() {
	if build "$2" "$3"; then
		ktap_check "digest: $1" law_fails
	else
		ktap_fail "digest: $1" 'not built'
	fi
}

header=bpf/epf_packet.bpf.h direct=bpf/epf_packet_direct.bpf.h copy=bpf/epf_packet_copy.bpf.h
build $header '2s/$/ /' || exit 1
ask
[ $? -ne 4 ] || ktap_skip_all 'loading BPF programs is not permitted'
ktap_plan 12 30
ktap_check 'digest: built likewise, the laws hold' ask
broken 'one extension header less' include/epf/headers.h \
	's/EPF_IP6_EXT_MAX 8/EPF_IP6_EXT_MAX 7/'
ktap_thorough broken 'one VLAN tag less' include/epf/headers.h 's/if (i == EPF_VLAN_MAX)/if (i == EPF_VLAN_MAX - 1)/'
ktap_thorough broken 'a word that is begun is not completed' $header 's/^\tepf_xdp_align(&w);//'
broken 'bytes behind the last word are left out' $direct 's/epf_sip_some(sip, h, m, n);//'
ktap_thorough broken 'likewise of the headers' $direct 's/if (rest \&\& i <= 8)/if (0)/'
ktap_thorough broken 'a word near the end is read from its beginning' $direct 's/= epf_opaque(off + n - 8)/= epf_opaque(off)/'
broken 'bytes that cannot be read are no error' $header 's/\*pkt->unread = .*/*pkt->unread = false;/'
# In assembly: else the compiler has the address of data_end once for all uses.
ktap_thorough broken 'the first buffer is taken for the packet' $header \
	's/pkt.len = epf_ctx_len(ctx)/{ long b, e; __asm__ volatile( "%0 = *(u32 *)(%2 + 0); %1 = *(u32 *)(%2 + 4); %1 -= %0" : "=\&r"(b), "=\&r"(e) : "r"(ctx)); pkt.len = e; }/'
ktap_thorough broken 'a plain flow is taken whatever the flags are' include/epf/flow.h \
	's/(o->flags & EPF_PKT_NONIP_FRAME) ||/0 ||/'
broken 'each chunk of a block has the key words of the first' $direct \
	's/epf_xdp_nh_chunk(sip, p, h->nh + at)/epf_xdp_nh_chunk(sip, p, h->nh)/'
ktap_thorough broken 'a block does not end' $header 's/^\treturn sip ? epf_nh_place(.*/\treturn sip ? sip->len \/ 8 % EPF_NH_WORDS : 0;/'
ktap_thorough broken 'a pair of a copy is under the first key words' $direct 's/(at + i) & (EPF_NH_WORDS - 2), p->word\[i\]/i, p->word[i]/'
ktap_thorough broken 'a run of words goes beyond the chunk' $header 's/return (n < left ? n : left) & ~15u;/return n \& ~15u;/'
ktap_thorough broken 'the second word of a pair is taken for a first' $header 's/n < 16 || sip->len & 8/n < 16/'
ktap_thorough broken 'a word of the head that waits is left out' $direct 's/^\t\tto->even = p->word\[i\];//'
broken 'what an ICMP error carries is not found' $header 's/if (err > 0) .*/if (0)/'
ktap_thorough broken 'the interface is 0' $header 's/found.scope.iface = .*;/;/'
broken 'the key of a flow is cut short' $direct 's/(struct epf_xdp_words \*)word, len)/(struct epf_xdp_words *)word, len \& 0x2f)/'
ktap_thorough broken 'a frame whose flow is none has no key' $header 's/ask->opts.key = EPF_PKT_FRAME;/;/'

flags=$bare
build $header '2s/$/ /' || exit 1
ktap_check 'digest, without CAP_PERFMON: built likewise, the laws hold' ask
broken 'without CAP_PERFMON, bytes behind the last word are left out' $copy 's/epf_sip_some(sip, h, m, n);//'
broken 'likewise, the head is not cut' include/epf/packet.h 's/^\tn = epf_take_some(t, n);//'
broken 'likewise, each chunk of a block has the key words of the first' $copy \
	's/h->nh + i \* EPF_XDP_CHUNK \/ 8, which/h->nh, which/'
broken 'likewise, the key of a flow is cut short' $copy 's/8 \* i + 8 > len/8 * i + 8 > (len \& 0x2f)/'
ktap_thorough broken 'likewise, the words before are compressed twice' $copy 's/which = .*/which = (1ULL << end) - 1;/'
ktap_thorough broken 'likewise, what lies before the packet is read' $copy 's/^\tif (off < 8 \* from)/\tif (0)/'
ktap_thorough broken 'likewise, the announced length lacks the head' include/epf/packet.h 's/__u32 len = 2 + hdr_len;/__u32 len = 0;/'
ktap_thorough broken 'likewise, a pair is under one key word' include/epf/hash.h 's/h->nh\[j + 1\] & keep/h->nh[j] \& keep/'
ktap_thorough broken 'likewise, a datagram of IPv6 is one of IPv4' include/epf/packet.h 's/^\tepf_head_add(head, 40);/\tepf_head_add(head, 20);/'
ktap_finish
