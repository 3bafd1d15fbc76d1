#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The runner, with invented programs: what it runs again, and what it prints at the end.
# judge.sh tests which failures deserve a second attempt.
# shellcheck disable=SC2317 # functions that claim calls

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
mkdir "$tmp/fake"
export EPF_UNSTEADY=$tmp/unsteady
unset EPF_SEED EPF_TIMEOUT
ktap_plan 25

# usage: program NAME; reads its text. The program notes that it ran, and its seed.
program() {
	{
		echo '#!/bin/sh'
		echo "echo \"\$EPF_SEED\" >> '$tmp/$1.ran'"
		echo 'echo 1..1'
		cat
	} > "$tmp/fake/$1"
	chmod +x "$tmp/fake/$1"
}

# usage: run OPTION... PROGRAM...: sets status
run() {
	"$here/../runner.sh" "${@/#fake/$tmp/fake}" > "$tmp/out" 2>&1
	status=$?
}
said() {
	grep -qE "$1" "$tmp/out" || { cat "$tmp/out"; return 1; }
}
ends_with() {
	[ "$(tail -n 1 "$tmp/out")" = "$1" ] || { cat "$tmp/out"; return 1; }
}
# usage: ran NAME SEED...
ran() {
	[ "$(paste -s -d ' ' "$tmp/$1.ran")" = "${*:2}" ]
}

program good <<< 'echo ok 1'
program luck <<< '[ "$EPF_SEED" = 1 ] || { echo "not ok 1 - a # chance 1e-8"; exit 1; }; echo ok 1'
program unlucky <<< 'echo "not ok 1 - a # chance 1e-8"; exit 1'
program law <<< '[ "$EPF_SEED" = 1 ] || { echo "not ok 1 - lost"; exit 1; }; echo ok 1'
program crash <<< 'kill -SEGV $$'
program hang <<< 'exec sleep 60'
program slow <<< 'sleep 1; echo ok 1 - the slow one'
program skips <<< 'echo "ok 1 # SKIP no reason"; exit 4'

run fake/good
ktap_is 'what passes passes' $status 0
ktap_check 'and is counted in the last line' ends_with '1 passed, 0 failed, 0 skipped'
ktap_check 'once, with the seed 0' ran good 0
ktap_check 'its time is reported' said '^# time [0-9.]+ [0-9.]+ fake/good$'
ktap_check 'and that of its suite' said '^# suite [0-9.]+ fake$'
ktap_refuse 'nothing is unsteady' said '^# unsteady'

run fake/luck fake/good
ktap_is 'what passes at the second attempt passes' $status 0
ktap_check 'attempts count once' ends_with '2 passed, 0 failed, 0 skipped'
ktap_check 'the second one with another seed' ran luck 0 1
ktap_check 'it is named as unsteady' said '^# unsteady: fake/luck, log: .*/unsteady/fake-luck.log$'
ktap_is 'both outputs are kept' "$(grep -cE '^(not )?ok 1' "$tmp/unsteady/fake-luck.log")" 2

run fake/unlucky
ktap_is 'what fails twice fails' "$status $(tail -n 1 "$tmp/out")" '1 0 passed, 1 failed, 0 skipped'
ktap_check 'the seed is reported' said '^not ok 1 fake/unlucky # exit=1, EPF_SEED=1$'
run fake/law
ktap_is 'a broken law fails' "$status $(tail -n 1 "$tmp/out")" '1 0 passed, 1 failed, 0 skipped'
ktap_check 'at once' ran law 0
run fake/crash
ktap_is 'a crash fails' "$status $(tail -n 1 "$tmp/out")" '1 0 passed, 1 failed, 0 skipped'
ktap_check 'at once' ran crash 0
run -t 1 fake/hang
ktap_check 'a hang is ended' said '^not ok 1 fake/hang # TIMEOUT 1 seconds, EPF_SEED=0$'
run fake/skips
ktap_is 'nothing but skipped is no success' "$status $(tail -n 1 "$tmp/out")" '1 0 passed, 0 failed, 1 skipped'

program wide <<< 'echo "ok 1 - a # chance 6e-5"'
program wider <<< 'echo "ok 1 - a # chance 0.00005"'
run fake/wide
ktap_check 'the chance to fail by luck is reported' \
	said '^# chance: 1 statistical points, by luck one fails in 6e-05 of runs$'
run fake/wide fake/wider
ktap_is 'chances that sum to more than 1e-4 fail' "$status $(tail -n 1 "$tmp/out")" \
	'1 2 passed, 1 failed, 0 skipped'
ktap_check 'and that is said' said '^not ok - by luck'

run -j 3 fake/slow fake/good fake/luck
ktap_is 'side by side they are reported in their order' \
	"$(sed -n 's/^ok [0-9] //p' "$tmp/out" | paste -s -d ' ')" 'fake/slow fake/good fake/luck'
EPF_SEED=7 run fake/unlucky
ktap_check 'a seed that is given is taken' grep -qx 7 "$tmp/unlucky.ran"
ktap_check 'and the next one follows' grep -qx 8 "$tmp/unlucky.ran"
ktap_finish
