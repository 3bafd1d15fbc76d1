#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the tests of the agent must notice: each variant is an agent with one
# edit, linked with the objects of the whole one.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
build=$(realpath -m "${BUILD:-build}")
objects=$build/user/obj
command -v "$CC" > /dev/null || ktap_skip_all "no $CC"
[ -x "$build/user/epfagent" ] || ktap_skip_all 'epfagent is not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

# usage: variant FILE EDIT; an edit that changes nothing is an error. FILE is one
# of epfagent/ unless it says where it is.
variant() {
	local of=epfagent/$1
	local name

	[[ $1 != */* ]] || of=$1
	name=$of.c

	sed "$2" "user/$name" > "$tmp/broken.c" || return
	! cmp -s "user/$name" "$tmp/broken.c" || return
	make -s -C user BUILD="$build" BROKEN="$tmp/broken.c" \
		BROKEN_OF="$of" BROKEN_OUT="$tmp/epfagent" broken
}

# usage: claim_fails PROGRAM [CLAIM]...: one fails and says so. Several attempts: which
# of two requests the agent has ready first is left to its threads.
claim_fails() {
	local _
	for _ in 1 2 3 4 5 6; do
		EPF_AGENT=$tmp/epfagent BUILD=$build EPF_PATIENCE=30 \
			timeout 3000 "selftests/agent/$1.py" "${@:2}" | grep '^not ok' && return
	done
	return 1
}

# usage: broken WHAT PROGRAM FILE EDIT [CLAIM]...
broken() {
	if variant "$3" "$4"; then
		ktap_check "$2: $1" claim_fails "$2" "${@:5}"
	else
		ktap_fail "$2: $1" 'not built'
	fi
}

[ -d "$objects" ] || ktap_skip_all 'no objects to link with'
ktap_plan 8 19
broken 'a copy is found again whatever its file became' audits warm \
	's/id->changed = st.st_ctim;/id->size = 160088;/'
ktap_thorough broken 'audits take turns, not users' fair sched \
	's/user_of(s, t->uid)/user_of(s, 0)/; s/user_new(s, t->uid)/user_new(s, 0)/' \
	'users take turns, not audits'
broken 'a turn counts bytes, not what they cost' fair audit/job \
	's/(rec_count(j->source).work - from)/(j->state.bytes - from)/;s/from = rec_count(j->source).work/from = j->state.bytes/;s/!job_pace_over(pace));/pace);/' \
	'and before one that defines templates again and again'
broken 'copies and checks have no deadline' fair warm \
	's/while (ret > 0 \&\& !job_pace_over(pace));/while (ret > 0 \&\& (!job_pace_over(pace) || 1));/' \
	'a small audit is done while a snapshot is checked' 'and while a filter is copied'
ktap_thorough broken 'nor do they look who waits' fair warm \
	's/while (ret > 0 \&\& !job_pace_over(pace));/while (ret > 0 \&\& (!job_pace_over(pace) || 1));/' \
	'a check ends when nobody waits, and at SIGTERM'
ktap_thorough broken 'building a mirror has no deadline' fair mirrors \
	's/while (ret > 0 \&\& !job_pace_over(pace));/while (ret > 0 \&\& (!job_pace_over(pace) || 1));/' \
	'and while a mirror is built'
ktap_thorough broken 'a filter is copied twice at once' fair warm \
	's/else if (being_copied(w, id))/else if (being_copied(w, id) \&\& 0)/' \
	'copies of one filter are made one after another'
broken 'readers are for nothing' hostile warm \
	's/e->kind == WARM_READER \&\&/0 \&\&/' \
	'memory of readers, shared among users'
broken 'bits behind a mark stay' hostile audit/job \
	's/\*tail &= /(void)/' "marks of a client's own making"
ktap_thorough broken 'a mark may have more records than there are' hostile audit/job \
	's/if (!ret \&\& j->ended \&\& j->known)/if (0)/' \
	"marks of a client's own making"
ktap_thorough broken 'an audit that nobody waits for goes on' fair server \
	's/^\t\tsched_cancel(c->task);//' 'a client that is killed costs nothing'
broken 'a column of others is mapped' hostile task \
	's/t->request.spec.copy = true/return 0/' \
	'a column truncated while it is read in pieces'
ktap_thorough broken 'descriptors of a refused request stay open' hostile request \
	's/close(m->fds\[m->nr_fds\])/(void)0/' \
	'more and fewer descriptors than announced' \
	'no descriptor and no memory is left, and it ends well'
ktap_thorough broken 'what found no thread waits for somebody else' hostile aside \
	's/a->nr_missing++/(void)0/' 'no thread for what a client sends'
broken 'an old verdict stays until the new one' watch result \
	's/^\tif (!unlinkat(r->dir, join(name, r->name, VERDICT), 0))/\tif (0)/' \
	'killed before each of its calls'
ktap_thorough broken 'a verdict does not say that the disk is full' watch audit/job \
	'/^static int out_fails/,/^}/s/strerror(-err)/""/' \
	'a disk too full for the results: a verdict says so'
ktap_thorough broken 'nor does the log' watch result \
	'/"cannot write the result: %s"/,/;/s/strerror(-err)/""/' \
	'a disk too full for the verdict: the log says so'
ktap_thorough broken 'results that did not fit keep their room' watch result \
	's/fd\[i\] >= 0 \&\& ftruncate(fd\[i\], 0)/fd[i] < -1/' \
	'a disk too full for the results: a verdict says so'
broken 'headers keep their checksums' secret audit/target \
	's/^\th->lines_xxh3 = h->header_xxh3 = 0;//' \
	'answers, outputs, status and log'
ktap_finish
