#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tables of mutants: the check of "make style" finds a stale entry, and the driver
# fails for a mutant that no test detects.
# shellcheck disable=SC2317 # functions that ktap_check calls

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
export EPF_MUTANTS=$tmp
table=$here/../mutants/table.py
ktap_plan 12

# usage: stanza LINE...: makes a table of a group and this stanza
stanza() {
	printf '%s\n' 'group: core/align_broken' 'tree: include' 'build: program laws_align' \
		'test: core/laws_align' 'file: include/epf/window.h' '' "$@" > "$tmp/core.table"
}

# usage: finds TEXT: the check fails in one line with the id and this text
finds() {
	! "$table" check > "$tmp/said" 2>&1 && cat "$tmp/said" &&
		[ "$(wc -l < "$tmp/said")" -eq 1 ] && grep -F "core/one: $1" "$tmp/said"
}

unnoticed() {
	! "$here/../mutants/run" core/align_broken > "$tmp/said" 2>&1 && cat "$tmp/said" &&
		grep "^not ok 1 core/one" "$tmp/said" && grep -F "$1" "$tmp/said"
}

ktap_is 'the listing has every mutant' \
	"$(EPF_MUTANTS=$here/../mutants "$table" list | awk '/^all / { print $3 }')" \
	"$(cat "$here"/../mutants/*.table | grep -cE '^(thorough )?mutant: ')"

one='mutant: core/one: Nothing works.'
stanza "$one" 's/a/b/'
ktap_check 'what is no key and value is refused' eval '! "$table" check'
stanza "$one" 'edit: s/return pitch >> 3;/return 0;/'
ktap_check 'a table without faults passes' "$table" check
stanza "$one" 'edit: s/return pitch >>> 3;/return 0;/'
ktap_check 'an edit that changes nothing is found' finds \
	'the edit changes nothing in include/epf/window.h: s/return pitch >>> 3;/return 0;/'
ktap_check 'and tried it is a failure' unnoticed 'the edit changes nothing'
stanza "$one" 'edit: s/return'
ktap_check 'so is one that sed refuses' finds 'include/epf/window.h: sed: '
stanza "$one" 'edit: 2s/$/ /' 'file: include/epf/windows.h'
ktap_check 'a file that is not there is found' finds 'no file include/epf/windows.h'
stanza "$one" 'edit: 2s/$/ /' 'test: core/laws_aligned'
ktap_check 'a test that is not there is found' finds 'no test core/laws_aligned'
stanza "$one" 'edit: 2s/$/ /' 'build: programs laws_align'
ktap_check 'a builder that is not there is found' finds 'no function build_programs'
stanza "$one" 'edit: 2s/$/ /' '' "$one" 'edit: 3s/$/ /'
ktap_check 'an id that is there twice is found' finds 'the id is also at '
stanza "$one" 'edit: 2s/$/ /'
ktap_check 'a mutant that no test notices is a failure' unnoticed 'exit 1: caught'
stanza "$one" 'edit: s/^EPF_FN/EPF_FN )/'
ktap_check 'one that does not compile is a failure' unnoticed 'not built'
ktap_finish
