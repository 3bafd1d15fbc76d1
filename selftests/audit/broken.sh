#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the tests of audits must notice: each variant is an engine with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh

CC=${CC:-cc}
lib=${BUILD:-build}/user/libepf.a
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
[ -e "$lib" ] || ktap_skip_all "$lib is not built"
case $(uname -m) in x86_64) ;; *) ktap_skip_all 'no vector engines here' ;; esac
avx2=$(grep -owm 1 avx2 /proc/cpuinfo)
# Variants that are ended leave their files.
tmp=$(mktemp -d) || exit 1
TMPDIR=$tmp
export TMPDIR
ktap_cleanup rm -rf "$tmp"

# usage: sources FILE: what the edit of FILE is compiled into, in $tmp/audit
sources() {
	case $1 in
	*.h) grep -l "\"$1\"" "$tmp"/audit/*.c ;;
	*) echo "$tmp/audit/$1" ;;
	esac
}

# usage: build PROGRAM FILE EDIT; an edit that changes nothing is an error. The
# linker takes from libepf what the edited files do not define.
build() {
	rm -rf "$tmp/audit" && cp -r user/libepf/audit "$tmp/" || return
	sed -i "$3" "$tmp/audit/$2" || return
	! cmp -s "user/libepf/audit/$2" "$tmp/audit/$2" || return
	# shellcheck disable=SC2046 # a list
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -Iuser/libepf -Iinclude -Iinclude/uapi \
		"selftests/audit/$1.c" $(sources "$2") "$lib" \
		-o "$tmp/$1" -lxxhash -lm -pthread
}

# A claim fails and says so; a crash does not count, nor does a loop.
claim_fails() {
	# shellcheck disable=SC2086 # none or one
	says '^not ok' "$tmp/$1" $2
}

# usage: broken WHAT PROGRAM FILE EDIT
broken() {
	case $2 in
	engines) args=200000 ;;
	edges) args=--small ;;
	estimate) args=--few ;;
	*) args= ;;
	esac
	case $avx2$2 in engines | moving)
		ktap_skip "$2: $1" 'no AVX2 here, and only vector engines have the edit'
		return
	esac
	if build "$2" "$3" "$4"; then
		ktap_check "$2: $1" claim_fails "$2" "$args"
	else
		ktap_fail "$2: $1" 'not built'
	fi
}

ktap_plan 9 30
if build engines vec.h '2s/$/ /'; then
	ktap_check 'engines: whole' "$tmp/engines" 200000
else
	ktap_fail 'engines: whole' 'not built'
fi
broken 'tags are not compared' engines vec.h 's/vec_all(EPF_TAG_MASK)/vec_all(0)/'
ktap_thorough broken 'tags are not compared' moving vec.h 's/vec_all(EPF_TAG_MASK)/vec_all(0)/'
ktap_thorough broken 'tags of one epoch for all lanes' engines run.c \
	's/epf_lane_tag(v->epoch, i)/epf_tag(v->epoch)/'
ktap_thorough broken 'the oldest lane is told' engines run.c \
	's/for (age = EPF_LANES; age--;)/for (age = 0; age < EPF_LANES; age++)/'
broken 'ages from another lane' moving run.c \
	's/(v->epoch - age) \& 7/(v->epoch + 1 - age) \& 7/'
broken 'the guard epoch does not count' engines run.c \
	's/for (age = EPF_LANES; age--;)/for (age = EPF_LIVE_EPOCHS; age--;)/'
ktap_thorough broken 'fields that are not used name positions' engines vec.h \
	's/vec_fold(w) | vec_all(g->skip)/vec_fold(w)/'
ktap_thorough broken 'the sixth field from the first word' engines vec.h \
	's/vec_fold(w \* vec_all(EPF_WORD_STEP_4))/vec_fold(w)/'
ktap_thorough broken 'the high half is not folded' engines vec.h \
	's/return w ^ w >> 32;/return w;/'
ktap_thorough broken 'every part has the same lines' engines vec.h \
	's/(line + j \* part_lines)/line/'
ktap_thorough broken 'the last part decides' engines vec.h 's/hits &= vec_hits/hits = vec_hits/'
ktap_thorough broken 'the high halves of lines are the low ones' engines avx2.c \
	's/flip + 4, m) << 4/flip, m) << 4/'
ktap_thorough broken 'the ring is a group too short' engines vec.h \
	's/i % ahead\]/i % (ahead - 1)]/'
ktap_thorough broken 'a group too few is looked at' engines vec.h \
	's/i < groups + ahead; i++/i + 1 < groups + ahead; i++/'
broken 'what is behind the last key counts' edges run.c \
	's/memset(s.age + n, EPF_AGE_ABSENT, all - n);/(void)0;/'
broken 'keys of the step before' edges run.c \
	's/step(w, at, end - at/step(w, at > first ? at - 8 : at, end - at/'
ktap_thorough broken 'keys one byte further' edges run.c 's/key + i \* k->len, k->len/key + i * k->len + 1, k->len/'
ktap_thorough broken 'bounds of lengths' edges run.c 's/return k->len <= EPF_KEY_MAX \&\&/return/'
ktap_thorough broken 'lanes that are stale count' estimate estimate.c 's/ == tag\[l\] ? set : 0/ == tag[l] ? set : set/'
broken 'bits of another age' estimate estimate.c 's/(v->epoch - age) \& 7/(v->epoch + 1 - age) \& 7/'
ktap_thorough broken 'a bit of the tag is a position' estimate estimate.c \
	's/epf_popcount(v & ~EPF_TAG_MASK)/epf_popcount(v << 1 >> 1)/'
ktap_thorough broken 'all parts are the first' estimate estimate.c 's/w->tally.nr\[part\]/w->tally.nr[0]/'
ktap_thorough broken 'the last piece is not counted' estimate par.c 's/if (first >= p->n ||/if (first + p->step > p->n ||/'
ktap_thorough broken 'random keys are few' estimate estimate.c 's/epf_word(m->seed + done + i, 1)/epf_word(m->seed + i % 99, 1)/'
broken 'an interval of 95 %' estimate interval.c 's/TAIL 0.0005/TAIL 0.025/'
ktap_thorough broken 'the gain of a key is the slower rate' choose auto.c 's|1 / here - 1 / there|1 / here|'
ktap_thorough broken 'carrying costs nothing' choose auto.c 's|all = carry + n|all = n|'
broken 'a copy whether allowed or not' choose auto.c 's/if (!copy \&\&/if (0 \&\&/'
ktap_thorough broken 'measured again each time' choose auto.c 's/^\tif (!k)$/\tif (k || !k)/'
ktap_finish
