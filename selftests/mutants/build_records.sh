# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the readers of records, for run.

build_readers() {
	local top=$PWD
	script 600 READREC="$tmp/readrec"
	# shellcheck disable=SC2046 # words
	(cd "$copy/user/records" && "$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -I. -I.. \
		-I../../include -I../../include/uapi $(pkg-config --cflags libfixbuf) \
		"$top/selftests/records/readrec.c" records.c record.c input.c text.c \
		json.c nfdump.c keytext.c rec_error.c csv.c pcap.c capture.c ipfix.c \
		stream.c stamp.c gzip.c xz.c zstd.c \
		-o "$tmp/readrec" -ljansson -lcsv -lpcap -lz -llzma -lzstd $(pkg-config --libs libfixbuf))
}

build_ctl() {
	script 300 EPFCTL="$tmp/epfctl"
	relink broken-ctl epfctl
}
