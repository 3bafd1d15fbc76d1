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

# usage: build FILE EDIT; FILE below the root; an edit that changes nothing is an
# error
build() {
	rm -rf "${tmp:?}"/* && mkdir -p "$tmp/selftests" || return
	cp -r include bpf "$tmp" && cp -r selftests/bpf "$tmp/selftests" || return
	sed "$2" "$1" > "$tmp/$1" || return
	! cmp -s "$1" "$tmp/$1" || return
	"$CLANG" -target bpf -mcpu=v3 -O2 -g -I"$tmp/include" -I"$tmp/include/uapi" \
		-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)" \
		-c "$tmp/selftests/bpf/digest.bpf.c" -o "$tmp/digest.bpf.o"
}

ask() {
	"$built/digest" "$tmp/digest.bpf.o" "$built/stacks.bin" > "$tmp/out" 2>&1
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

header=bpf/epf_packet.bpf.h
build $header '2s/$/ /' || exit 1
ask
[ $? -ne 4 ] || ktap_skip_all 'loading BPF programs is not permitted'
ktap_plan 5 14
ktap_check 'digest: built likewise, the laws hold' ask
broken 'one extension header less' include/epf/headers.h \
	's/EPF_IP6_EXT_MAX 8/EPF_IP6_EXT_MAX 7/'
ktap_thorough broken 'one VLAN tag less' include/epf/headers.h 's/if (i == EPF_VLAN_MAX)/if (i == EPF_VLAN_MAX - 1)/'
ktap_thorough broken 'a word that is begun is not completed' $header 's/^\tepf_xdp_align(&w);//'
broken 'bytes behind the last word are left out' $header 's/epf_sip_some(sip, h, m, n);//'
ktap_thorough broken 'likewise of the headers' $header 's/if (rest \&\& i <= 8)/if (0)/'
ktap_thorough broken 'a word near the end is read from its beginning' $header 's/= epf_opaque(off + n - 8)/= epf_opaque(off)/'
broken 'bytes that cannot be read are no error' $header 's/\*pkt->unread = .*/*pkt->unread = false;/'
ktap_thorough broken 'the first buffer is taken for the packet' $header \
	's/pkt.len = bpf_xdp_get_buff_len(ctx)/pkt.len = ctx->data_end - ctx->data/'
ktap_thorough broken 'a plain flow is taken whatever the flags are' include/epf/packet.h \
	's/(o->flags & EPF_PKT_NONIP_FRAME) ||/0 ||/'
broken 'the second half of a block has the key words of the first' $header \
	's/h->nh + half \* EPF_XDP_CHUNK \/ 8/h->nh/'
ktap_thorough broken 'a block does not end after its second half' $header 's/^\t\tif (half)/\t\tif (0)/'
ktap_thorough broken 'nor after words of a copy' $header 's/if (at + i == EPF_NH_WORDS)/if (0)/'
ktap_thorough broken 'a run of words goes beyond the half block' $header 's/EPF_HASH_NH \&\& left < most/EPF_HASH_NH \&\& 0/'
ktap_finish
