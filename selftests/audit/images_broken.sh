#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the test of copies of owned kinds must notice: each variant has one edit
# of the core's checks, or of a state. One that lets a test leave its memory is
# noticed by the sanitizers. What the edits do not change is the library's.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh

CC=${CC:-cc}
sanitize='-fsanitize=address,undefined -fno-sanitize-recover'
echo 'int main(void){}' | "$CC" $sanitize -x c - -o /dev/null 2> /dev/null ||
	ktap_skip_all "no $CC with sanitizers"
lib=${BUILD:-build}/user/libepf.a
[ -e "$lib" ] || ktap_skip_all 'not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build FILE EDIT; an edit that changes nothing is an error
build() {
	rm -rf "$tmp/epf" && mkdir "$tmp/epf" || return
	cp include/epf/*.h "$tmp/epf/" && sed -i "$2" "$tmp/epf/$1" || return
	! cmp -s "include/epf/$1" "$tmp/epf/$1" || return
	# shellcheck disable=SC2086 # options
	"$CC" -O1 -g $sanitize -std=gnu11 -D_GNU_SOURCE= -I"$tmp" -Iinclude -Iinclude/uapi \
		-Iuser/libepf selftests/audit/images.c user/libepf/audit/kinds.c \
		"$lib" -o "$tmp/images" -lxxhash -lm -pthread
}

# A claim fails, or a sanitizer says why it stopped; no other crash counts.
noticed() {
	says '^not ok|ERROR: AddressSanitizer|runtime error' "$tmp/images" 4000
}

# usage: broken WHAT FILE EDIT
broken() {
	if build "$2" "$3"; then
		ktap_check "$1" noticed
	else
		ktap_fail "$1" 'not built'
	fi
}

whole() {
	if build image.h '2s/$/ /'; then
		ktap_check 'whole' sh -c "! timeout 600 $tmp/images 4000 | grep '^not ok'"
	else
		ktap_fail 'whole' 'not built'
	fi
}

ktap_plan 3 7
ktap_thorough whole
broken 'a segment that is not there' image.h 's/ && s->now <= last//'
ktap_thorough broken 'words that are not there' image.h \
	's/return s->words == words \&\& /return s->words >= 8 \&\& /'
broken 'words of slices not counted' image.h 's/return words == s->words &&/return/'
ktap_thorough broken 'a map with a cell too many' dict.h 's/<= t->cells;$/<= t->cells + 1;/'
ktap_thorough broken 'a state without its segment' image.h 's/s->now = f->now;/s->now = 0;/'
broken 'a state without its ring' image.h 's/s->now = f->ring.base;/s->now = 0;/'
ktap_finish
