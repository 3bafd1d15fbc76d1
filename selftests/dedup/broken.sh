#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the tests of dedup must notice: each variant is an epfctl, or a test of
# the table, with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
build=$(realpath -m "${BUILD:-build}")
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
[ -x "$build/user/epfctl" ] || ktap_skip_all 'epfctl is not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: edited FILE EDIT; an edit that changes nothing is an error
edited() {
	sed "$2" "user/epfctl/$1.c" > "$tmp/broken.c" &&
		! cmp -s "user/epfctl/$1.c" "$tmp/broken.c"
}

# usage: claim_fails PROGRAM CLAIM...: one of them fails and says so
claim_fails() {
	EPFCTL=$tmp/epfctl timeout 300 "selftests/dedup/$1.py" "${@:2}" |
		grep '^not ok'
}

table_fails() {
	timeout 300 "$tmp/table" | grep '^not ok'
}

# usage: broken WHAT FILE EDIT PROGRAM CLAIM...
broken() {
	if edited "$2" "$3" && make -s -C user BUILD="$build" \
		BROKEN="$tmp/broken.c" BROKEN_OF="epfctl/$2" \
		BROKEN_OUT="$tmp/epfctl" broken-ctl; then
		ktap_check "$1" claim_fails "${@:4}"
	else
		ktap_fail "$1" 'not built'
	fi
}

# usage: table WHAT EDIT
table() {
	if edited dedup_exact "$2" && "$CC" -D_GNU_SOURCE= -O1 -w -Iinclude/uapi \
		-Iuser -Iuser/epfctl -Iselftests/dedup -o "$tmp/table" \
		selftests/dedup/exact_test.c "$tmp/broken.c"; then
		ktap_check "table: $1" table_fails
	else
		ktap_fail "table: $1" 'not built'
	fi
}

ktap_plan 10 40
ktap_thorough table 'the span before is not looked at' \
	's/(span \&\& is_near(e, digest, span - 1, place))/false/'
ktap_thorough table 'the span after is not looked at' \
	's/is_near(e, digest, span + 1, place)/false/'
table 'near is one less' 's/e->ask.reach) >= place/e->ask.reach) > place/'
ktap_thorough table 'near ahead is one less' 's/s->first <= plus(place/s->first < plus(place/'
ktap_thorough table 'the first place of a span is not kept' \
	's/s->first = place < s->first ? place : s->first;//'
table 'what is near is forgotten' \
	's/e->ask.reach) < e->oldest/e->ask.reach) <= e->oldest/'
ktap_thorough table 'nothing is forgotten' 's/return plus(s->last, e->ask.reach) < e->oldest/return 0/'
ktap_thorough table 'it grows sooner' 's,e->held <= e->nr / 2 ||,e->held < e->nr / 2 ||,'
table 'a limit is passed' 's/bytes_of(3 \* nr) > e->ask/bytes_of(2 * nr) > e->ask/'
ktap_thorough table 'a repeat is entered in any case' \
	's/(!seen || !e->ask.first_seen)/true/'
ktap_thorough table 'what was forgotten is not told' 's/	e->forgets = true;//'
ktap_thorough table 'sums wrap' 's/return a + b < a ? ~0ULL : a + b/return a + b/'

broken 'the clock goes back' dedup_clock \
	's/	c->back++;/	c->latest_ns = ns; c->back++;/' test_exact 'time goes back'
ktap_thorough broken 'every jump is believed' dedup_clock \
	's/if (waits \&\& follows(c, ns))/if (waits)/' test_exact stamped
ktap_thorough broken 'the first stamp is believed' dedup_clock \
	's/^		check_first(c, ns);/		(void)0;/' test_exact stamped
ktap_thorough broken 'a jump is not counted in its epoch' dedup_survey \
	's/if (clock_settles(\&s->clock, ns))/clock_settles(\&s->clock, ns); if (0)/' \
	test_exact 'time goes back'
ktap_thorough broken 'an epoch goes on being counted' dedup_survey \
	's/^		s->here = 0;/		(void)0;/' test_exact 'time goes back'
broken 'the busiest epoch is the last' dedup_survey \
	's/if (s->here > s->busiest)/if (1)/' test_exact 'time goes back'
ktap_thorough broken 'what is to come is not looked at' dedup_survey \
	's/if (s->least\[i\] < s->least\[i - 1\])/if (0)/' \
	test_exact 'disorder 20000: -w'
ktap_thorough broken 'the lowest stamp of a stretch is its first' dedup_survey \
	's/^		s->least\[i\] = ns;/		(void)0;/' test_exact 'disorder 20000: -w'
broken 'one packet less fits' dedup_judge \
	's/return exact_bytes_for(keys) <=/return exact_bytes_for(keys + 1) <=/' \
	test_exact 'does not fit' 'slots'
ktap_thorough broken 'the size of the file sizes the filter' dedup_judge \
	's/if (is_file(j, in) \&\& survey(j, m))/if (0)/' test_exact 'is needed'

broken 'table: lengths on the wire do not count' dedup_judge \
	's/digest\[1\] ^= s->unseen;//' test_exact 'cut packets'
ktap_thorough broken 'filter: lengths on the wire do not count' dedup_judge \
	's/s->unseen ? epf_mem_digest/0 ? epf_mem_digest/' test_exact 'cut packets'
ktap_thorough broken 'bytes behind --bytes count where they were captured' dedup_judge \
	's/			len = s->key.max_bytes;/			(void)0;/' test_exact \
	'cut packets'
ktap_thorough broken 'what is behind a datagram counts' dedup_judge \
	's/^		s->unseen = 0;/		(void)0;/' test_exact 'cut packets'

ktap_thorough broken 'a section tells its length' capture_out \
	's/if (b->kind != NG_IS_SECTION)/if (1)/' test_formats 'kinds of blocks'
broken 'the repeats come without other blocks' dedup \
	's/return err ? err : write_removed(d, item);/return err;/' \
	test_formats 'kinds of blocks'
ktap_thorough broken 'pcap takes several link types' capture_out \
	's/if (item->link != out->link)/if (0)/' test_formats 'do not go into pcap'
ktap_thorough broken 'the snap length is that of the interfaces before the first packet' \
	capture_out 's/err = mend_snaplen(out);//' test_formats 'snap lengths'
ktap_thorough broken 'offsets of stamps do not count' capture_ng \
	's/code == OPT_IF_TSOFFSET \&\& len >= 8/0/' test_formats 'units'
ktap_thorough broken 'units of 2^-n s are halved' capture_ng \
	's/ns >>= n;/ns >>= n + 1;/' test_formats 'units'
ktap_thorough broken 'simple packets are as long as on the wire' capture_ng \
	's/^		b->captured = b->iface->snaplen;/		(void)0;/' \
	test_formats 'kinds of blocks'
broken 'a section keeps the byte order of the last' capture_ng \
	's/^		in->big = false;/		(void)0;/' test_formats 'kinds of blocks'
broken 'pcap takes any stamp' capture_out \
	's/if (!fits_pcap(item))/if (0)/' test_formats 'stamps that pcap'
ktap_thorough broken 'stamps wrap at 64 bits' capture_ng 's/return ns == \*to;/return true;/' \
	test_formats 'outside of 64 bits'
ktap_thorough broken 'what is outside of 64 bits is compared' dedup_judge \
	's/if (is_undated(j, item))/if (0)/' test_formats 'outside of 64 bits'
ktap_thorough broken 'a step back wraps in JSON' dedup_report \
	's/return n > INT64_MAX ? .*/return (json_int_t)n;/' test_formats 'one packet at'
ktap_thorough broken 'options of packets are lost untold' capture_out \
	's/out->loss.options += b->options;//' test_formats 'no room for'
ktap_thorough broken 'writes are of the size that glibc likes' capture_out \
	's/return setvbuf(.*/return 0;/' test_exact 'writes of'
ktap_finish
