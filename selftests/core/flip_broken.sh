#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of memory that changes must notice.
# shellcheck source=broken.sh disable=SC1091
. "$(dirname "$0")/broken.sh"

flags='-O1 -std=gnu11'

build() {
	edited "$1" || return
	# shellcheck disable=SC2086 # a list
	"$CC" $flags "-I$tmp" -Iinclude -Iinclude/uapi \
		selftests/core/flip.c -o "$tmp/flip" -pthread
}

more_tags='s/i < EPF_VLAN_MAX; i++/i < 25; i++/; s/i >= l3->tags ||/i >= 25 ||/'
no_bound='s/if (len > sizeof(head->bytes) - n)/if (0)/'

case $(uname -m) in
x86_64) ;;
*) ktap_skip_all 'accesses are watched on x86 only' ;;
esac

ktap_plan 5
kind flip packet
whole
broken 'options are read field by field' 's/half\[0\] = epf_opaque(half\[0\]);/memcpy(\&copy.key, \&from->key, 1);/; s/memcpy(&copy, half, sizeof(copy));/memcpy((__u8 *)\&copy + 1, (const __u8 *)from + 1, 7);/'
flags="$flags -DIN_PLACE"
broken 'options are used where they lie' '2s/$/ /'
build "$more_tags"
ktap_check 'flip: the head is bounded, however many tags it is asked for' \
	"$tmp/flip" bounds
build "$more_tags; $no_bound"
ktap_check 'flip: and it is not where the bound is left out' \
	sh -c "! $tmp/flip bounds > /dev/null 2>&1"
ktap_finish
