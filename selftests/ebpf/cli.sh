#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl on pure BPF filters: every verb, the holder of epochs, and the state after a
# process is killed.
# shellcheck disable=SC2317 # functions that checks call

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh
top=$PWD
epfctl=${EPFCTL:-$top/build/user/epfctl}
pins=/sys/fs/bpf/epochfilter

[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
[ -x "$epfctl" ] || ktap_skip_all 'needs epfctl: make user'
[ "$("$epfctl" --backend bpf list 2>&1 | wc -l)" -le 1 ] ||
	[ -d "$pins" ] || ktap_skip_all 'no BPF file system'
a=epftest-a-$$ b=epftest-b-$$ tmp_pin=/sys/fs/bpf/epftest-x-$$
selftests/ebpf/sweep.py
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

epf() {
	"$epfctl" --backend bpf "$@"
}

# shellcheck disable=SC2329 # a cleanup
gone() {
	epf destroy "$a" --force
	epf destroy "$b" --force
} > /dev/null 2>&1
ktap_cleanup gone

epf create "$a" --window 70000 --rotate process > "$tmp/made" 2>&1 ||
	ktap_skip_all "no BPF here: $(head -n 1 "$tmp/made")"

use() {
	epf "$@"
}
. selftests/ebpf/lib.sh

# Returns once the holder ends epochs.
hold() {
	goes_on "$epfctl" --backend bpf hold "$@"
}

unknown() { # prints how many of the keys $2 .. $3 are neither present nor certainly absent
	seq "$2" "$3" | epf test "$1" - 2> /dev/null | grep -c ' unknown'
}

insert() {
	seq "$2" "$3" | epf insert "$1" - > /dev/null
}

field() { # prints a field of "show", JSON
	epf -j show "$1" | python3 -c "import json, sys; print(json.load(sys.stdin)$2)"
}

audited() { # prints how many of $tmp/keys are present
	epf -j audit --no-agent --format csv --place "$2" "$1" "$tmp/keys" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["present"])'
}

completes() { # usage: completes REPLY WORD...: completes the last word to this
	# shellcheck disable=SC2034,SC2030 # read by the function
	(
		epfctl() { "$epfctl" "$@"; }
		. "$top/user/completion/epfctl" 2> /dev/null
		COMP_WORDS=(epfctl "${@:2}")
		COMP_CWORD=$(($# - 1))
		_epfctl
		[ "${COMPREPLY[*]}" = "$1" ]
	)
}

ktap_plan 82

# in a container's mount namespace, which hides the existing file system
mounts() {
	unshare -m --pid --fork --mount-proc sh -c 'mount -t tmpfs none /sys/fs/bpf &&
		"$1" --backend bpf create hidden --window 100 &&
		test -e /sys/fs/bpf/epochfilter/hidden/table' sh "$epfctl"
}
ktap_check 'the BPF file system is mounted where nobody has' mounts

# Each command in a mount namespace of its own, where /sys has no BPF file system.
by_netns_exec() { # usage: by_netns_exec STATUS VERB...
	ip netns add "$a" && ip netns exec "$a" "$epfctl" --backend bpf "${@:2}" > "$tmp/out" 2> "$tmp/err"
	local is=$?
	ip netns del "$a"
	[ "$is" = "$1" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -q 'nsenter --net=' "$tmp/err"
}
ktap_check 'ip netns exec: create is refused' by_netns_exec 2 create hidden --window 100
ktap_check 'and attach' by_netns_exec 2 attach lo
ktap_check 'and a hook' by_netns_exec 2 attach --hook nf:input:0 --filter "$a"
ktap_check 'and pin' by_netns_exec 2 pin "$a" "$tmp_pin" --key flow --learn
ktap_check 'and detach' by_netns_exec 2 detach lo
ktap_check 'and status says that it sees nothing' by_netns_exec 1 status
ktap_check 'create says that nobody ends its epochs yet' grep -q "epfctl hold $a" "$tmp/made"
ktap_check 'it is listed' eval 'epf list --names | grep -qx "$a"'
ktap_check 'its maps are for root only' [ "$(stat -c %a "$pins/$a")" = 700 ]
ktap_check 'the same name again is refused' says 'already' epf create "$a" --window 100
ktap_check 'a locked kind is refused' says 'lanes' epf create "$b" --window 100 --kind ge
insert "$a" 1 1000
ktap_check 'the error says how to end epochs' says "epfctl hold $a" sh -c "seq 1 10 | '$epfctl' --backend bpf test '$a' -"
ktap_is 'nobody ends its epochs: not known' "$(unknown "$a" 1 1000)" 1000
ktap_is 'but what is absent is known' "$(unknown "$a" 100001 101000)" 0

ktap_check 'verbs are completed' completes hold ho
ktap_check 'and backends' completes module --backend mo
ktap_check 'and filters, behind a backend' completes "$a" --backend bpf show "$a"
ktap_check 'and those to be held' completes "$a" hold "$a"

ktap_check 'hold' hold "$a"
ktap_is 'what was inserted before it is there' "$(present "$a" 1 1000)" 1000
ktap_check 'a second one is refused' says 'held by another process' epf hold "$a"
ktap_check 'held, it is not destroyed' says 'held' epf destroy "$a"
ktap_is 'other keys are absent' "$(($(present "$a" 100001 110000) < 10))" 1

kill -STOP "$holder"
ktap_check 'the holder is stopped: soon keys are unknown' \
	timeout 20 bash -c "until ! '$epfctl' --backend bpf test '$a' 1 > /dev/null; do sleep .05; done"
ktap_is 'that is counted' "$(($(field "$a" "['stats']['failed_open']") > 1000))" 1
kill -CONT "$holder"
until knows; do sleep .02; done
ktap_is 'the holder continues: nothing was lost' "$(present "$a" 1 1000)" 1000
flock "$pins/$a" sleep 6 # longer than a holder waits for the lock at a time
ktap_check 'a long operation such as a restore does not end the holder' kill -0 "$holder"
until knows; do sleep .02; done
ktap_is 'and nothing was lost' "$(present "$a" 1 1000)" 1000
let_go
ktap_check 'the holder is killed: another may begin' hold "$a"
ktap_is 'and nothing was lost' "$(present "$a" 1 1000)" 1000

insert "$a" 1001 71000
ktap_is 'the last W are there' "$(present "$a" 1001 71000)" 70000
insert "$a" 200001 290000
ktap_is 'after 8 epochs more they are not' "$(($(present "$a" 1 1000) < 5))" 1
ktap_is 'epochs have ended' "$(($(field "$a" "['epoch']") > 15))" 1

ktap_check 'save' epf save "$a" "$tmp/snap"
seq 220001 290000 > "$tmp/keys"
ktap_is 'the snapshot has them' "$(audited "$tmp/snap" auto)" 70000
ktap_is 'so has a copy of the filter' "$(audited "$a" copy)" 70000
ktap_is 'and the filter in place' "$(audited "$a" live)" 70000
ktap_check 'rotate' eval '[ "$(epf rotate "$a")" != "" ]'
ktap_check 'clear' epf clear "$a"
ktap_is 'nothing is there' "$(present "$a" 220001 221000)" 0
ktap_check 'restore' epf restore "$a" "$tmp/snap"
ktap_is 'it is there again' "$(present "$a" 220001 290000)" 70000

seq 60000 | sed 's/.*/&,&/' > "$tmp/log"
"$epfctl" build "$tmp/over" --force --time 1d --rate .01 --format csv --fields 2 --stamp 1 "$tmp/log" > /dev/null 2>&1
ktap_is 'restore says who has to hold it, and that its error is above its limit' \
	"$(epf restore "$b" "$tmp/over" 2>&1 | grep -cE "until 'epfctl hold $b' runs|error of .* is above its limit")" 2
epf destroy "$b" > /dev/null

epf create "$b" --time 10s --rate 1000 --hash siphash13 --rotate process > /dev/null
ktap_is 'the hash is nh, or as asked for' "$(field "$a" "['hash']") $(field "$b" "['hash']")" 'nh siphash13'
insert "$b" 1 500
ktap_check 'swap' epf swap "$a" "$b"
ktap_is 'each has what the other had' "$(present "$a" 1 500) $(($(present "$b" 220001 221000) + $(unknown "$b" 220001 221000)))" '500 1000'
ktap_is 'and the parameters' "$(field "$a" "['mode']") $(field "$b" "['mode']")" 'time count'
ktap_check 'with itself it is refused' says 'swap' epf swap "$a" "$a"

let_go
epf destroy "$b"

# ---- ages ----

asks() {
	epf "$@" > "$tmp/out" 2> "$tmp/err"
}
. "$top/selftests/cli/within.sh"
epf create "$b" --time 7000s --rate 10 -b 1e-9 --rotate process > /dev/null
ktap_check 'a filter with a key of each age' eval 'hold "$a" "$b" && aged "$b"'
ktap_check 'test --within: each number of epochs' each_age "$b"
ktap_check 'test --within: a duration is rounded up to epochs' eval 'each_duration "$b" &&
	bad_within "$b" remembers 7000001ms'
ktap_check 'test --within: what is no age' bad_ages "$b"
let_go
epf destroy "$b"
epf create "$b" --window 700000 --rotate process > /dev/null
ktap_check 'test --within: epochs of no certain length' bad_within "$b" 'by insertions' 1s
epf destroy "$b"

epf create "$b" --time 700ms --rate 1000 --rotate process > /dev/null
ktap_check 'one process holds two' hold "$a" "$b"
# Keep a lock until the other filter's epochs have ended many times: a holder that waited
# for it would end one in 5 s.
others_go_on() {
	local last
	flock -F "$pins/$a" sh -c 'echo locked; exec sleep infinity' > "$tmp/locked" &
	lock=$!
	until grep -q locked "$tmp/locked"; do
		kill -0 "$lock" || return
		sleep .02
	done
	last=$(($(field "$b" "['epoch']") + 30))
	SECONDS=0
	until [ "$(field "$b" "['epoch']")" -ge "$last" ]; do
		[ "$SECONDS" -lt 90 ] || return
		sleep .05
	done
	kill -0 "$lock"
}
lock=
# shellcheck disable=SC2329 # a cleanup
unlock() {
	[ -z "$lock" ] || { kill "$lock"; wait "$lock"; }
	lock=
} 2> /dev/null
ktap_cleanup unlock
ktap_check 'one that is locked makes the other one no later' others_go_on
unlock

let_go
ktap_check 'destroy' eval 'epf destroy "$a" && epf destroy "$b"'

# usage: refused_for WHY COMMAND...: refused in one line that says so
refused_for() {
	local why=$1
	shift
	epf "$@" > "$tmp/said" 2>&1
	[ $? -eq 2 ] && [ "$(wc -l < "$tmp/said")" -eq 1 ] && grep -q "$why" "$tmp/said"
}

without_process() {
	epf create "$a" --window 70000 || return
	SECONDS=0
	until [ "$(field "$a" "['held']")" = True ] && seq 10 | epf test "$a" --insert - > /dev/null; do
		[ "$SECONDS" -lt 90 ] || return
	done
	seq 100000 | epf insert "$a" - && [ "$(field "$a" "['epoch']")" -gt 15 ] &&
		[ "$(present "$a" 90000 90999)" -eq 1000 ]
}
told() {
	[ "$(field "$a" "['rotate']")" = kernel ] &&
		epf show "$a" | grep 'the kernel ends its epochs'
}
case $(uname -v) in
*PREEMPT_RT*)
	ktap_check 'a timer is refused here' refused_for PREEMPT_RT create "$a" --window 1000 --rotate kernel
	epf create "$a" --window 1000
	ktap_check 'without --rotate it takes a process' [ "$(field "$a" "['rotate']")" = process ]
	epf destroy "$a"
	for what in 'told' 'no holder' 'aligned' 'no swap'; do ktap_skip "$what" 'PREEMPT_RT'; done ;;
*)
	ktap_check 'an aligned window does not go with a timer' refused_for 'wall clock' \
		create "$a" --time 1s --rate 1000 --align --rotate kernel
	ktap_check 'a timer ends epochs, without a process' without_process
	ktap_check 'show names the holder' told
	ktap_check 'hold is refused' refused_for 'needs no holder' hold "$a"
	epf create "$b" --time 1s --rate 1000 --align
	ktap_check 'an aligned window takes a process' [ "$(field "$b" "['rotate']")" = process ]
	ktap_check 'contents of an aligned window are refused' refused_for 'wall clock' swap "$a" "$b"
	epf destroy "$a" && epf destroy "$b" ;;
esac

# ---- a swap whose process was killed between its two changes ----

left_half() {
	epf create "$a" --window 1000 --rotate process && epf create "$b" --window 1000 --rotate process && "$half" "$a" "$b"
} > /dev/null
# usage: half_refused VERB ARGUMENT...: refused in one line that says what happened and
# what to do
half_refused() {
	ktap_check "half-way: $1 says so" refused_for \
		"a swap was killed half-way.*'epfctl destroy' it" "$@"
}
others_listed() {
	epf destroy "$a" && epf create "$a" --window 1000 --rotate process &&
		! epf list > "$tmp/list" 2> "$tmp/said" && grep -q "$a" "$tmp/list" &&
		! grep -q "$b" "$tmp/list" && [ "$(wc -l < "$tmp/said")" -eq 1 ] &&
		grep -q "'$b': a swap was killed half-way" "$tmp/said" &&
		! epf -j list 2> /dev/null | grep -q "$b"
}
names_all() {
	[ "$(epf list --names | grep -c -e "^$a$" -e "^$b$")" -eq 2 ]
}
metrics_go_on() {
	epf metrics > "$tmp/metrics" && grep -q "\"$a\"" "$tmp/metrics" &&
		! grep -q "\"$b\"" "$tmp/metrics"
}
half=${BUILD:-$top/build}/selftests/ebpf/half
half_parts=14
if [ -x "$half" ] && left_half; then
	half_refused test "$a" 1
	half_refused insert "$a" 1
	half_refused show "$b"
	half_refused rotate "$a"
	half_refused clear "$a"
	half_refused hold "$a"
	half_refused save "$a" "$tmp/half"
	half_refused restore "$a" "$tmp/snap"
	half_refused swap "$a" "$b"
	half_refused audit --no-agent --format csv "$a" "$tmp/keys"
	ktap_check 'half-way: list shows the others, and names this one' others_listed
	ktap_check 'half-way: its name is listed' names_all
	ktap_check 'half-way: metrics have the others' metrics_go_on
	ktap_check 'half-way: destroy' eval 'epf destroy "$b" && epf create "$b" --window 100 --rotate process &&
		epf insert "$b" 1 && epf show "$b" > /dev/null && epf destroy "$a" && epf destroy "$b"'
else
	for part in $(seq $half_parts); do
		if [ -x "$half" ]; then
			ktap_fail "half-way: $part" 'not left so'
		else
			ktap_skip "half-way: $part" 'half is not built: no clang, bpftool or libbpf-dev'
		fi
	done
fi

ktap_check 'the value of --rotate is checked' refused_for "'kernel' or 'process'" \
	create "$a" --window 1000 --rotate nobody
# An attachment of another version, whose map has larger values.
other_version() {
	local dir=$pins/@$a
	epf create "$a" --window 100 && mkdir "$dir" &&
		"$bpftool" map create "$dir/conf" type array key 4 value 16384 entries 1 name other || return
	epf destroy "$a"
	says 'another version of epfctl' epf status "$a@"
}
# Without an operand the other attachments are shown, in text and in JSON; this one is named
# on standard error.
others_shown() {
	local ret=0 json=0
	epf create "$b" --window 100 && epf pin "$b" "$tmp_pin" --key flow --learn || return
	epf status > "$tmp/shown" 2> "$tmp/told" || ret=$?
	epf -j status > "$tmp/json" 2>> "$tmp/told" || json=$?
	rm "$tmp_pin"
	epf destroy "$b"
	[ "$ret" -eq 1 ] && [ "$json" -eq 1 ] && grep -q "^$tmp_pin: filter $b" "$tmp/shown" &&
		[ "$(grep -c "'$a.*another version of epfctl" "$tmp/told")" -eq 2 ] &&
		grep -q "^warning: .*'$a" "$tmp/told" && grep -q "^{\"warning\":.*'$a" "$tmp/told" &&
		python3 -c 'import json, sys
sys.exit(sys.argv[1] not in [o.get("pin") for o in json.load(sys.stdin)])' "$tmp_pin" < "$tmp/json"
}
# shellcheck disable=SC2329 # a cleanup
forget_version() {
	rm -f "$pins/@$a/conf"
	rmdir "$pins/@$a"
}
ktap_cleanup forget_version
bpftool=$(PATH=$PATH:/usr/sbin:/sbin command -v bpftool)
if [ -n "$bpftool" ]; then
	ktap_check 'pins of another version are reported, and do no harm' other_version
	ktap_check 'status shows all others' others_shown
else
	ktap_skip 'pins of another version are reported, and do no harm' 'no bpftool'
	ktap_skip 'status shows all others' 'no bpftool'
fi
forget_version 2> /dev/null
# Leftovers of a killed test are removed, but not those of this one.
swept() {
	sh -c 'exec "$1" --backend bpf create "epftest-x-$$" --window 100' sh "$epfctl" &&
		epf create "$a" --window 100 && selftests/ebpf/sweep.py &&
		[ "$(epf list --names | grep -c -e epftest-x- -e "^$a$")" -eq 1 ] && epf destroy "$a"
}
ktap_check 'what tests left that were killed is swept' swept
ktap_check 'nothing is left' eval '! ls "$pins" | grep -q "epftest-.-$$"'
ktap_finish
