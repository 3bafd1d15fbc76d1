#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Which programs get a second attempt: verdicts of judge.awk on invented outputs.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
ktap_plan 42

# usage: judge WHAT VERDICT STATUS SUITE LINE...
judge() {
	judge_what=$1 judge_wanted=$2 judge_status=$3 judge_suite=$4
	shift 4
	ktap_is "$judge_what" "$(printf '%s\n' "$@" | awk -f "$here/../judge.awk" \
		-v status="$judge_status" -v timeout=9 -v suite="$judge_suite")" "$judge_wanted"
}

# usage: of WHAT VERDICT STATUS LINE...: for a program; of_boot: for a guest
of() {
	of_what=$1 of_wanted=$2 of_status=$3
	shift 3
	judge "$of_what" "$of_wanted" "$of_status" '' "$@"
}
of_boot() {
	of_what=$1 of_wanted=$2 of_status=$3
	shift 3
	judge "$of_what" "$of_wanted" "$of_status" 1 "$@"
}

of 'all points pass' 'pass 2 0 0 ' 0 1..2 'ok 1' 'ok 2 - b # chance 1e-9'
of 'one point is skipped' 'pass 1 0 1 ' 0 1..2 'ok 1' 'ok 2 - b # SKIP no nvcc'
of 'all is skipped' 'skip 0 0 1' 4 '1..0 # SKIP no module'
of 'all is skipped, point by point' 'skip 0 0 2' 4 1..2 'ok 1 # SKIP a' 'ok 2 # skip b'

of 'a law' 'fail 1 1 0 exit=1' 1 1..2 'ok 1' 'not ok 2 - no key is lost'
of 'a point of chance' 'again 1 1 0 exit=1' 1 1..2 'ok 1' 'not ok 2 - b # chance 1e-9'
of 'a law beside a point of chance' 'fail 0 2 0 exit=1' 1 1..2 'not ok 1 - law' 'not ok 2 - b # chance 1e-9'
of 'chance without its number is a law' 'fail 0 1 0 exit=1' 1 1..1 'not ok 1 - a # chance'
of 'a point of a program that depends on more' 'again 0 1 0 exit=1' 1 '# retry: sockets' 1..1 'not ok 1 - a'
of 'a law in such a program' 'fail 0 1 0 exit=1' 1 '# retry: sockets' 1..1 'not ok 1 - a # LAW'
of 'a law in such a program, that passes' 'again 1 1 0 exit=1' 1 '# retry: x' 1..2 'ok 1 - a # LAW' 'not ok 2 - b'
of 'the word alone is no declaration' 'fail 0 1 0 exit=1' 1 '# we retry: x' 1..1 'not ok 1 - a'

of 'no plan' 'again 1 1 0 no plan, exit=1' 1 'ok 1'
of 'no output' 'again 0 1 0 no plan, exit=127' 127 ''
of 'ended early' 'again 1 1 0 planned 3, ran 1, exit=1' 1 1..3 'ok 1'
of 'ended early with exit 0' 'again 1 1 0 planned 3, ran 1, exit=0' 0 1..3 'ok 1'
of 'ended early after a broken law' 'fail 0 2 0 planned 3, ran 1, exit=1' 1 1..3 'not ok 1'
of 'more points than planned' 'again 2 1 0 planned 1, ran 2, exit=0' 0 1..1 'ok 1' 'ok 2'
of 'exit without a failed point' 'again 1 1 0 exit=3' 3 1..1 'ok 1'
of 'no points' 'again 0 1 0 no test points' 0 1..0
of 'a hang' 'fail 1 1 0 TIMEOUT 9 seconds' 124 1..2 'ok 1'
of 'a segmentation fault' 'fail 1 1 0 planned 2, ran 1, exit=139' 139 1..2 'ok 1'
of 'an abort' 'fail 1 1 0 planned 2, ran 1, exit=134' 134 1..2 'ok 1'
of 'killed from outside' 'again 1 1 0 planned 2, ran 1, exit=143' 143 1..2 'ok 1'
of 'memory errors' 'fail 0 1 0 exit=1' 1 1..1 '==7==ERROR: AddressSanitizer: heap-use-after-free' 'not ok 1 - a # chance 1e-9'
of 'a leak' 'fail 1 1 0 exit=23' 23 1..1 'ok 1' '==7==ERROR: LeakSanitizer: detected memory leaks'
of 'a data race' 'fail 1 1 0 exit=66' 66 1..1 'ok 1' 'WARNING: ThreadSanitizer: data race (pid=7)'
of 'undefined behaviour' 'fail 1 1 0 exit=1' 1 1..1 'ok 1' 'a.c:1:2: runtime error: shift exponent 64'
of 'a report that was wanted' 'pass 1 0 0 ' 0 1..1 'ok 1 - found: ERROR: AddressSanitizer: heap-overflow'
of 'a hang that had to be killed' 'fail 1 1 0 planned 2, ran 1, exit=137' 137 1..2 'ok 1'
of 'a complaint of the kernel in a program that skips' 'fail 0 1 0 no plan, exit=4' 4 'vm: the kernel complained:'
of 'a complaint of the kernel that the guest did not tell' 'fail 1 1 0 the kernel complained' 0 1..1 'ok 1' \
	'vm: the kernel complained:'
of_boot 'a guest that is lost after a program failed in it' 'fail 0 1 0 ended without its totals, exit=125' 125 \
	'  not ok 3 - a law' 'not ok 7 module/lockstep # exit=1'
of_boot 'a guest that is lost while a program has another attempt' 'again 0 1 0 ended without its totals, exit=125' 125 \
	'  not ok 3 - a # chance 1e-9'
of 'a complaint of the kernel' 'fail 1 1 0 exit=123' 123 1..1 'ok 1' 'vm: the kernel complained:'
of 'a guest that gave no status' 'again 0 1 0 no plan, exit=125' 125 'vm: the guest ended without a status'

of_boot 'a guest' 'pass 3 0 1 ' 0 'ok 1 core/a' '  not ok 1 - seen in there' '3 passed, 0 failed, 1 skipped'
of_boot 'a guest in which something failed for good' 'fail 3 1 0 exit=1' 1 '3 passed, 1 failed, 0 skipped'
of_boot 'a guest whose kernel complained' 'fail 3 1 0 exit=123' 123 '3 passed, 0 failed, 0 skipped'
of_boot 'a guest that was lost' 'again 0 1 0 ended without its totals, exit=125' 125 'ok 1 core/a'
of_boot 'a guest that hung' 'fail 0 1 0 TIMEOUT' 124 'ok 1 core/a'
of_boot 'a kernel that is not to be had' 'pass 0 0 1 ' 0 'ok - newest # SKIP' '0 passed, 0 failed, 1 skipped'
ktap_finish
