#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the laws of merged snapshots must notice: each variant is the merge, or
# the core under it, with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh

CC=${CC:-cc}
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
# Variants that are ended leave their snapshots.
tmp=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

flags='-O1 -std=gnu11 -D_GNU_SOURCE= -Iuser/libepf'

# What does not depend on the edits.
for file in snap atomic_file dev backend copy audit/kinds; do
	# shellcheck disable=SC2086 # a list
	"$CC" $flags -Iinclude -Iinclude/uapi -c "user/libepf/$file.c" \
		-o "$tmp/${file##*/}.o" || exit 1
done

# usage: build FILE EDIT; an edit that changes nothing is an error
build() {
	rm -rf "$tmp/epf" && cp -r include/epf user/libepf/merge.c "$tmp/" || return
	case $1 in *.h) of=include/epf at=epf ;; *) of=user/libepf at=. ;; esac
	sed -i "$2" "$tmp/$at/$1" || return
	! cmp -s "$of/$1" "$tmp/$at/$1" || return
	# shellcheck disable=SC2086 # a list
	"$CC" "-I$tmp" $flags -Iinclude -Iinclude/uapi selftests/audit/merge.c \
		"$tmp/merge.c" "$tmp"/*.o -o "$tmp/merge" -lxxhash -lm
}

# A claim fails and says so; a crash does not count, nor does a loop.
claim_fails() {
	says '^not ok' "$tmp/merge" laws "$tmp"
}

# usage: broken WHAT FILE EDIT
broken() {
	if build "$2" "$3"; then
		ktap_check "merge: $1" claim_fails
	else
		ktap_fail "merge: $1" 'not built'
	fi
}

ktap_plan 7 15
if build merge.c '2s/$/ /'; then
	ktap_check 'merge: whole' "$tmp/merge" laws
else
	ktap_fail 'merge: whole' 'not built'
fi
broken 'words keep their tags' merge.c 's/word\[i \* EPF_LANES + l\], from, to/&*0 + from/'
ktap_thorough broken 'tags are not looked at' lanes.h 's/epf_tag(from) || !positions/epf_tag(from) \&\& !positions/'
ktap_thorough broken 'lanes stay where they are' merge.c 's/lane\[to % EPF_LANES\] |=/lane[l] |=/'
ktap_thorough broken 'the last file only' merge.c 's/lane\[to % EPF_LANES\] |=/lane[to % EPF_LANES] =/'
broken 'the oldest epoch is left out' merge.c 's/if (age >= EPF_EPOCHS)/if (age + 1 >= EPF_EPOCHS)/'
broken 'epochs go to the older interval' merge.c \
	's/? least : i;/? least : i - 1 + (x == h->epoch_end);/'
ktap_thorough broken 'nothing is near: epochs go to the younger interval' merge.c \
	's/g.near = .*/g.near = 0;/'
broken 'the time of the first snapshot' merge.c 's/if (last > g->now)/if (!i)/'
ktap_thorough broken 'epochs are of the numbers that they have' merge.c \
	's/__u64 to = m->header.epoch_end - age;/__u64 to = x;/'
ktap_thorough broken 'an epoch may begin before the last one ended' merge.c \
	's/last = ended(h, x);/last = 0;/'
broken 'an epoch may be short' merge.c 's/start\[age + 1\] + g->epoch_ns/start[age + 1]/'
ktap_thorough broken 'the current epoch is as young as its snapshot' merge.c \
	's/x > oldest(h) \&\& i < least/x > oldest(h) \&\& !least/'
broken 'epochs need not match' merge.c 's/if (!m->loose \&\& /if (0 \&\& /'
ktap_thorough broken 'the time of the oldest snapshot' merge.c \
	's/h->realtime_ns = later(h->realtime_ns, start\[0\]);/h->realtime_ns = start[0];/'
ktap_finish
