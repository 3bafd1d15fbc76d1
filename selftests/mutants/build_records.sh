# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the readers of records, for run.

# usage: readers_cc ARG...: in the copy
readers_cc() {
	# shellcheck disable=SC2046 # words
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -I"$copy/user/records" -I"$copy/user" -I"$copy/include" \
		-I"$copy/include/uapi" $(pkg-config --cflags libfixbuf) "$@"
}

# A source that is edited is compiled again; a header, with all sources.
build_readers() {
	local name parts=()
	script 600 READREC="$tmp/readrec"
	for name in records record input text json json_find nfdump keytext rec_error csv pcap capture ipfix \
		stream stamp part nfcapd child wiretap gzip xz zstd; do
		case " $file " in
		*.h\ * | *" user/records/$name.c "*) parts+=("$copy/user/records/$name.c") ;;
		*) parts+=("$build/user/obj/records/$name.o") ;;
		esac
	done
	[ -e "$tmp/readrec.o" ] ||
		readers_cc -c selftests/records/readrec.c -o "$tmp/readrec.o" || return
	# shellcheck disable=SC2046 # words
	readers_cc "$tmp/readrec.o" "${parts[@]}" -o "$tmp/readrec" -Wl,--wrap=read \
		-ljansson -lcsv -lpcap -lz -llzma -lzstd $(pkg-config --libs libfixbuf)
}

build_ctl() {
	script 300 EPFCTL="$tmp/epfctl"
	relink broken-ctl epfctl
}
