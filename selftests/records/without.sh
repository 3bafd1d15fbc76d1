#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Readers built without the optional libraries.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

bare=${BUILD:-$here/../../build}/selftests/records/readrec_bare
[ -x "$bare" ] || ktap_skip_all 'not built'

# usage: packed BYTES PACKAGE: a file that begins with BYTES is refused, naming the package
packed() {
	printf '%b' "$1" | "$bare" 1,2 csv | grep "^error 95 .*$2"
}

# usage: says FORMAT PACKAGE OPTION...: fails with EOPNOTSUPP, naming the package
says() {
	printf 'a,b\n' | "$bare" 1,2 "$1" "$3" | grep "^error 95 .*$2"
}

ktap_plan 10
ktap_check 'CSV names its package' says csv libcsv-dev fields=1
ktap_check 'nfdump names its package' says nfdump libcsv-dev key=flow
ktap_check 'IPFIX names its package' says ipfix libfixbuf-dev key=flow
ktap_check 'captures name their package' says pcap libpcap-dev key=flow
ktap_check 'gzip names its package' packed '\037\213\010\000' zlib1g-dev
ktap_check 'xz names its package' packed '\3757zXZ\000' liblzma-dev
ktap_check 'zstd names its package' packed '\050\265\057\375' libzstd-dev
# nfcapd: without the reader of nfdump's text nothing is run
nfcapd() {
	printf '\014\245\002\000' | "$bare" 1,2 auto key=flow | grep '^error .*nfdump'
}

ktap_check 'files of nfcapd name nfdump' nfcapd
ktap_check 'lines go without any' sh -c "echo a | $bare 1,2 csv | grep 'count 1 '"
ktap_check 'JSON too' sh -c "echo '{\"a\":\"b\"}' | $bare 1,2 json fields=a | grep 'count 1 '"
ktap_finish
