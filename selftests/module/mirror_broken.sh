#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A mirror with one edit is not equal to its filter: the test of mirrors can
# fail. The edits are in the Makefile.
# shellcheck source=selftests/ktap.sh disable=SC1091
. "$(dirname "$0")/../ktap.sh"

built=$(dirname "$0")/../../build/selftests/module
[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'
[ -x "$built/mirror_whole" ] || ktap_skip_all "$built/mirror_whole is not built"

# usage: differs NAME; a mirror that fails otherwise does not count
differs() {
	"$built/mirror_$1" by-turns | grep '^# follow'
}

ktap_plan 5
ktap_check 'whole: equal' "$built/mirror_whole" by-turns
ktap_check 'a record of an epoch that has gone is applied: differs' differs late
ktap_check 'records applied to the current epoch: differs' differs current
ktap_check 'nothing is emptied when epochs end: differs' differs scan
ktap_check 'insertions of epochs that are over are counted again: differs' differs counted
ktap_finish
