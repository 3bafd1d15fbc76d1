#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the tests of the metrics must notice: each variant is the writer, or the
# endpoint, with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
lib=${BUILD:-build}/user/libepf.a
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
[ -e "$lib" ] || ktap_skip_all 'not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: build PROGRAM FILE EDIT; an edit that changes nothing is an error
build() {
	cp user/metrics/metrics.c user/epfagent/http.c "$tmp/" || return
	sed -i "$3" "$tmp/$2" || return
	! cmp -s "user/epfagent/$2" "$tmp/$2" || return
	case $1 in
	page) set -- selftests/metrics/page.c ;;
	*) set -- selftests/metrics/serve.c "$tmp/http.c" user/audit/wrong.c -lmicrohttpd ;;
	esac
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -DEPF_VERSION='"1.2.3"' -Iuser \
		-Iuser/libepf -Iinclude -Iinclude/uapi selftests/metrics/fake.c \
		"$tmp/metrics.c" "$@" "$lib" -o "$tmp/program" -lxxhash -lm -pthread
}

text() {
	mv "$tmp/program" "$tmp/page"
	EPF_METRICS_BIN=$tmp timeout 3000 selftests/metrics/text.py
}

# The first claim that fails ends it.
text_fails() {
	text | grep -m 1 '^not ok'
}

# usage: broken WHAT EDIT
broken() {
	if build page metrics.c "$2"; then
		ktap_check "$1" text_fails
	else
		ktap_fail "$1" 'not built'
	fi
}

# usage: claim_fails CLAIM: of listen.py
claim_fails() {
	mv "$tmp/program" "$tmp/serve_fake"
	EPF_LIMIT=15 EPF_METRICS_BIN=$tmp timeout 3000 selftests/metrics/listen.py "$1" |
		grep '^not ok'
}

# usage: open CLAIM WHAT EDIT
open() {
	if ! echo | "$CC" -fsyntax-only -include microhttpd.h -xc - 2> /dev/null; then
		ktap_skip "$2" 'no libmicrohttpd'
	elif build serve_fake http.c "$3"; then
		ktap_check "$2" claim_fails "$1"
	else
		ktap_fail "$2" 'not built'
	fi
}

ktap_plan 11 34
if build page metrics.c '2s/$/ /'; then
	ktap_check 'whole' text
else
	ktap_fail 'whole' 'not built'
fi
broken 'no end' '/# EOF/d'
broken 'counters without a suffix' 's/"_total"/""/'
ktap_thorough broken 'names of samples for families' 's/p->format == METRICS_TEXT)/1)/'
ktap_thorough broken 'the old format has a type info' 's/old && f->type == INFO/0/'
ktap_thorough broken 'units in the old format' 's/f->unit && !old/f->unit/'
ktap_thorough broken 'a unit forgotten' 's/"age_seconds", GAUGE, SECONDS/"age_seconds", GAUGE, NONE/'
ktap_thorough broken 'fractions without their zeros' 's/%09llu/%llu/'
ktap_thorough broken 'a ratio a thousand times too large' 's/%012llu/%09llu/'
broken 'hits for misses' 's/stats.misses/stats.hits/'
ktap_thorough broken 'the pinned for the saturated' 's/EPF_INFO_SATURATED/EPF_INFO_PINNED/'
ktap_thorough broken 'the asker is a user too' '/info->users -=/d'
ktap_thorough broken 'windows of zero' 's/s->optional && !v/0/'
ktap_thorough broken 'epochs that are not there' 's/!info\[i\].epochs\[age\].epoch/0/'
broken 'quotes as they are' "s/\*text == '\"' ||/0 ||/"
ktap_thorough broken 'names without an end' 's/for (; room \&\& \*text;/for (; *text;/'
ktap_thorough broken 'filters that vanish are errors' 's/err == -ENODEV ? 0 : err/err/'
ktap_thorough broken 'errors are filters that vanish' \
	's/filter == -ENOENT || filter == -ENODEV ? 0 : filter/0/'
broken 'descriptors left open' '/^	epf_close(filter);/d'
open 'only the loopback address is listened on' 'all addresses are listened on' \
	's/INADDR_LOOPBACK/INADDR_ANY/'
ktap_thorough open 'other addresses are refused, in one line' 'any address will do' \
	's/strncmp(listen, four, strlen(four))/0/'
ktap_thorough open 'other addresses are refused, in one line' 'the last colon is before the port' \
	's/listen + strlen(is_six ? six : four)/strrchr(listen, 58) + 1/'
open "a socket's mode, and its end" 'anybody may connect' 's/0660/0666/'
ktap_thorough open "a socket's mode, and its end" 'the socket stays' \
	'/^void metrics_stop/,/^}/s/unlink/(void)/'
ktap_thorough open 'a socket that was left behind is replaced' 'what was left behind stays' \
	's/	remove_stale(p);//'
open 'what is in use, or no socket, is not' 'what is in use is replaced' \
	's/if (connect(fd/if (1 || connect(fd/'
ktap_thorough open 'what is in use, or no socket, is not' 'files are replaced' \
	's/ || !S_ISSOCK(st.st_mode)//'
ktap_thorough open '127.0.0.1: all filters, as OpenMetrics' 'the older format for all' \
	's/return q \&\& q/return 0 \&\& q/'
open 'filters that cannot be read: 500' 'errors are empty pages' \
	's/!metrics_write(out, format, dev, m->stats)/(metrics_write(out, format, dev, 0), 1)/'
ktap_thorough open "signals are the caller's" 'signals to the thread of the endpoint' \
	's/sigfillset/sigemptyset/'
open '16 clients that say nothing' 'clients that say nothing may stay' \
	's/d->ns \&\& d->ns <= now/0/'
ktap_thorough open '16 clients that drip a second request' 'each answer is time for ever' \
	's/d->ns = clock_ns() + m->request_ns;/d->ns = 0;/'
ktap_thorough open 'the format by weights' 'weights are not looked at' 's/q = weight(accept, end)/q = 1/'
ktap_thorough open 'without permission: up is 1, readable 0' 'no permission is no module' \
	's/metrics_write(out/metrics_write(out/; /int dev = epf_dev_open/s/$/ dev = dev < 0 ? -ENOENT : dev;/'
ktap_finish
