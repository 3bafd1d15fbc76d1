#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the test of work in steps must notice: each variant is libepf with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
. selftests/core/says.sh

CC=${CC:-cc}
lib=${BUILD:-build}/user/libepf.a
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
[ -e "$lib" ] || ktap_skip_all "$lib is not built"
tmp=$(mktemp -d) || exit 1
TMPDIR=$tmp
export TMPDIR
ktap_cleanup rm -rf "$tmp"

# usage: build FILE EDIT; an edit that changes nothing is an error. The linker
# takes from libepf what the edited file does not define.
build() {
	sed "$2" "user/libepf/$1" > "$tmp/edited.c" || return
	! cmp -s "user/libepf/$1" "$tmp/edited.c" || return
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -w -Iuser/libepf -Iuser/libepf/audit -Iinclude \
		-Iinclude/uapi selftests/audit/steps.c "$tmp/edited.c" "$lib" \
		-o "$tmp/steps" -lxxhash -lm -pthread
}

# A claim fails and says so; a crash does not count, nor does a loop.
claim_fails() {
	says "^not ok [0-9]+ - $1" "$tmp/steps"
}

# usage: broken WHAT CLAIM FILE EDIT
broken() {
	if build "$3" "$4"; then
		ktap_check "$1" claim_fails "$2"
	else
		ktap_fail "$1" 'not built'
	fi
}

ktap_plan 5 14
if build snap.c '2s/$/ /'; then
	ktap_check 'whole' "$tmp/steps"
else
	ktap_fail 'whole' 'not built'
fi
broken 'a file is summed at once' 'a snapshot of lanes checked: 0' snap.c \
	's/left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES/left/'
ktap_thorough broken 'buckets are looked at at once' 'a snapshot of dict checked: 0' audit/kinds.c \
	's/^#define STEP_BUCKETS(f) .*/#define STEP_BUCKETS(f) (1u << 30)/'
ktap_thorough broken 'lines are copied at once' 'a copy of lanes: 0' snap_copy.c \
	'/^static int copy_some/,/^}/s/left < EPF_STEP_BYTES/c->fd < 0 \&\& c->lines || left < EPF_STEP_BYTES/'
ktap_thorough broken 'a copy is summed at once' 'a copy of lanes: 0' snap_copy.c \
	'/^static int sum_memory/,/^}/s/left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES/left/'
ktap_thorough broken 'the sum of a step before' 'a copy of lanes: 0' snap_copy.c \
	's/c->to + c->summed, n/c->to, n/'
broken 'a copy that is ended leaves its snapshot' 'a copy of dict: ended' snap_copy.c \
	's/if (c->phase == COPY_LINES || c->phase == COPY_END)/if (0)/'
ktap_thorough broken 'a void copy is told of twice' 'a copy that is void' snap_copy.c \
	's/^\tc->work.done = 0;$//'
broken 'lines are settled at once' 'settling: 0' audit/view.c \
	's/left < EPF_STEP_BYTES ? left : EPF_STEP_BYTES/left/'
ktap_thorough broken 'a view that is ended keeps its room' 'settling: ended' audit/view.c \
	's/munmap(m->new.own, m->new.own_bytes);/(void)0;/'
broken 'a mirror is copied at once' 'a mirror: 0' mirror.c \
	's/left < most ? left : most/left/; s/if (left <= most)/if (1)/'
ktap_thorough broken 'a journal is read at once' 'insertions followed' mirror.c \
	's/^\twhile (left >= record_bytes(m)) {/\tfor (;;) {/'
ktap_thorough broken 'what an epoch leaves is emptied at once' 'ends of epochs' mirror.c \
	's|if (end - first > bytes / EPF_LINE_BYTES)|if (0)|'
ktap_thorough broken 'a mirror that is ended leaves its snapshot' 'a mirror: ended' mirror.c \
	'/^void epf_mirror_close/,/^}/s/if (m->phase == MIRROR_COPY)/if (0)/'
ktap_finish
