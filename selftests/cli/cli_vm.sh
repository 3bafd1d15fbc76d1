#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl with the module: filters created, tested, saved, swapped, watched. Loads
# build/kmod/epochfilter.ko (or EPF_KO) in a VM; elsewhere it must be loaded.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_module cli-
ktap_plan 275 313

ktap_cleanup umount -q "$tmp/small"

# shows DESCRIPTION EXPRESSION NAME: of 'show -j NAME', as d
shows() {
	epf -j show "$3"
	claim "$1" json "$2"
}

# watching NAME ARG...: watch in the background, until $watcher is waited for.
watching() {
	local i

	"$EPFCTL" watch "$@" > "$tmp/watch" 2>&1 &
	watcher=$!
	for ((i = 0; i < 600; i++)); do # no other process holds a filter
		"$EPFCTL" list -j | grep -qE '"users": ?[1-9]' && return
		sleep 0.1
	done
}

# watched STATUS REGEX: it ends with this status and output, within 60 s
watched() {
	local i

	for ((i = 0; i < 600; i++)); do
		kill -0 "$watcher" 2> /dev/null || break
		sleep 0.1
	done
	kill "$watcher" 2> /dev/null && return 1
	wait "$watcher"
	[ $? = "$1" ] && tr '\n' '\037' < "$tmp/watch" | grep -qE -- "$2"
}

# How keys are made
keys_of() { shows "$1" "d['keys'] == $2" "$3"; }
"$EPFCTL" create cli-desc -W 7000 > "$tmp/out"
keys_of 'nobody has said what keys are made of' '{"kind": "unknown"}' cli-desc
gives 0 '^$' insert cli-desc hello
keys_of 'insert says that they are bytes' '{"kind": "bytes"}' cli-desc
"$EPFCTL" save cli-desc "$tmp/desc" > "$tmp/out"
gives 0 'keys +text or bytes' show --file "$tmp/desc"
"$EPFCTL" restore cli-desc-2 "$tmp/desc" > "$tmp/out"
keys_of 'restore takes it along' '{"kind": "bytes"}' cli-desc-2
gives 0 '^$' clear cli-desc
keys_of 'clear leaves it' '{"kind": "bytes"}' cli-desc
gives 0 '^$' insert cli-desc --digest 0123456789abcdef
keys_of 'digests are something else' '{"kind": "mixed"}' cli-desc
gives 0 'keys +of several kinds' show cli-desc
"$EPFCTL" destroy cli-desc > "$tmp/out"
"$EPFCTL" destroy cli-desc-2 > "$tmp/out"

# Testing keys of another kind gives one warning. DESCRIPTION of mksnap.c; what the filter
# has, or nothing: no warning; how it is tested
asked_of() {
	local warning="^warning: the keys of 'cli-kind' are $2: none of them can be"

	mksnap --keys "$1" "$tmp/kind" || return
	"$EPFCTL" restore cli-kind "$tmp/kind" > "$tmp/out" || return
	epf test cli-kind "${@:3}"
	"$EPFCTL" destroy cli-kind || return
	[ "$status" = 1 ] || return
	if [ -z "$2" ]; then
		[ ! -s "$tmp/err" ]
	else
		[ "$(wc -l < "$tmp/err")" = 1 ] && grep -qE -- "$warning" "$tmp/err"
	fi
}
bytes='but those looked up are text or bytes'
claim 'text, of a filter of packets: a warning' asked_of 2,1,1,0 \
	"packets \(--key packet --no-mac\), $bytes" a b c
seq 300000 > "$tmp/in"
claim 'one of many batches' asked_of 2,0,0,0 "packets \(--key frame\), $bytes" -q -
claim 'text, of a filter of addresses' asked_of 3,0,0,0 \
	"IP addresses of 4 or 16 bytes, $bytes" 192.0.2.7
claim 'bytes that may be addresses: none' asked_of 3,0,0,0 '' --format hex c0000207
claim 'bytes that may not' asked_of 3,0,0,0 "IP addresses of 4 or 16 bytes, $bytes" \
	--format hex c000020708
claim 'digests: none' asked_of 2,1,0,0 '' --digest 0123456789abcdef
claim 'text, of a filter of text: none' asked_of 1,0,0,0 '' a
claim 'text, of several kinds: none' asked_of 5,0,0,0 '' a

# Creating
gives 0 '^created cli-a \(id [0-9]+\)' create cli-a --window 7000
fails "there is a filter 'cli-a' already" create cli-a --window 7000
fails "there is no filter 'cli-none'" show cli-none
fails "there is no filter '99999'" show 99999
fails "there is no filter 'cli-none'" destroy cli-none
fails "there is no filter 'cli-none'" test cli-none key
fails "there is no filter 'cli-none'" swap cli-a cli-none
fails "there is no filter 'cli-none'" swap cli-none cli-a
half="half of this machine's memory"
fails "takes 128 GiB, and one filter may have [0-9.]+ [MG]iB \(max_filter_mib is 0, $half\)" \
	create cli-huge -W 1M --lines 2147483648 --lines-per-key 4 \
	--bits-per-key 8
gives 0 'cli-a' list
gives 0 'cli-a' list --names
shows 'show -j: parameters as asked' \
	'd["window_inserts"] == 7000 and d["mode"] == "count" and
	 d["budget"] == 1e-4 and d["limit"] == 2e-4 and d["users"] == 0' cli-a
[[ $(< "$tmp/out") =~ '"id":'\ *([0-9]+) ]] && id=${BASH_REMATCH[1]}
gives 0 '^cli-a ' show "$id"

# Keys: one key, written four ways
gives 0 '^$' insert cli-a hello
gives 0 '^hello present age 0' test cli-a hello
gives 1 '^world absent' test cli-a world
gives 1 '^hello present age 0.world absent' test cli-a hello world
gives 0 '^68656c6c6f present' test cli-a --format hex 68656C6c6f
gives 0 '^hello present' test cli-a --format json '"hell\u006f"'
gives 0 '^hello present' test cli-a --format json '{"hex": "68656c6c6f"}'
gives 0 '^\{"key":"hello","present":true,"age":0\}' -j test cli-a hello
gives 1 '^\{"key":"no","present":false\}' -j test cli-a no
gives 1 '^\{"hex":"ff","present":false\}' -j test cli-a $'\xff'
gives 1 '^a\\x1bb absent' test cli-a $'a\x1bb'
gives 0 '^$' test -q cli-a hello
gives 1 '^$' test -q cli-a world
gives 1 '^1 present, 2 absent, 0 unknown' test -c cli-a hello world no
printf 'hello\0wor\nld\0' > "$tmp/in"
gives 1 '^hello present age 0.wor\\x0ald absent' test cli-a -0 -
printf '{"key": "hello"}\n"x"' > "$tmp/in"
gives 1 '^hello present.*x absent' test cli-a --format json -
gives 1 'absent' test cli-a --digest 0123456789abcdef
gives 0 '^$' insert cli-a --digest 0123456789abcdef
gives 0 '^0123456789abcdef present' test cli-a --digest 0123456789abcdef
gives 0 '^$' insert cli-a "$(printf %0256d 0)"
gives 0 'present' test cli-a "$(printf %0256d 0)"
gives 0 '^$' insert cli-a -- -dash
gives 0 '^-dash present' test cli-a -- -dash
gives 1 '^new absent' test cli-a --insert new
gives 0 '^new present' test cli-a --insert new
: > "$tmp/in"
gives 0 '^$' test cli-a -
printf 'fine\nalso fine\n\n' > "$tmp/in"
fails 'standard input:3: the key is empty' insert cli-a -
gives 1 '0 present, 2 absent' test -c cli-a fine 'also fine'
gives 0 '^\{"inserted":2,"present":0\}' -j insert cli-a one two

# Keys that arrive slowly are answered as they arrive
trickle() {
	local i pid seen=1

	mkfifo "$tmp/fifo"
	"$EPFCTL" test cli-a - < "$tmp/fifo" > "$tmp/out" &
	pid=$!
	exec 8> "$tmp/fifo"
	echo hello >&8
	for ((i = 0; i < 600; i++)); do # its input stays open
		grep -q '^hello present' "$tmp/out" && seen=0 && break
		sleep 0.1
	done
	exec 8>&-
	wait "$pid" && return "$seen"
}
claim 'keys from a pipe are not held back' trickle

# Many keys, more than one batch; the window holds them all
seq 1000000 1300000 > "$tmp/keys"
gives 0 '^created' create cli-many -W 400k
gives 0 '"inserted":300001' -j insert cli-many --file "$tmp/keys"
gives 0 '^300001 present, 0 absent' test -c cli-many --file "$tmp/keys"
seq 5000000 5099999 > "$tmp/keys"
epf -j test -c cli-many --file "$tmp/keys"
# 10 are expected; more than 30 fail it, by the Poisson distribution
chance=1e-7 claim 'false positives within the budget of 1e-4' \
	json 'd["present"] <= 30 and d["unknown"] == 0'
shows 'counters add up' 'd["stats"]["inserts"] == 300001 and
	d["stats"]["hits"] + d["stats"]["misses"] == 400001' cli-many

# Ages
asks() {
	epf "$@"
	return "$status"
}
# shellcheck source=within.sh disable=SC1091
. ./within.sh
"$EPFCTL" create cli-ages -T 7000s --rate 10 -b 1e-9 > "$tmp/out"
claim 'a filter with a key of each age' aged cli-ages
claim 'test --within: a number of epochs' ages_within cli-ages 2 2
claim 'test --within: a duration is rounded up to epochs' ages_within cli-ages 2000001ms 3
"$EPFCTL" destroy cli-ages > "$tmp/out"
ages_of_locked() {
	"$EPFCTL" create cli-ages --kind ge -W 1M > "$tmp/out"
	claim 'a locked kind with a key of each age' aged cli-ages
	claim 'test --within: epochs of a locked kind' ages_within cli-ages 2 2
	claim 'test --within: which have no certain length' bad_within cli-ages 'by insertions' 1s
	"$EPFCTL" destroy cli-ages > "$tmp/out"
}
ktap_thorough ages_of_locked

# Rotation and clearing
gives 0 '^epoch' rotate cli-a
gives 0 '^hello present age 1' test cli-a hello
gives 0 '"epoch":' -j rotate cli-a -n 7
gives 1 '^hello absent' test cli-a hello
gives 0 '^$' insert cli-a hello
gives 0 '^$' clear cli-a
gives 1 '^hello absent' test cli-a hello
shows 'a cleared filter keeps its parameters' 'd["window_inserts"] == 7000' \
	cli-a
shows 'the hash is nh by default' 'd["hash"] == "nh"' cli-a

# Other windows
gives 0 '^created' create cli-time --time 10m --rate 1000 --strict
shows 'time: window and hash as asked' 'd["mode"] == "time" and
	d["window_ns"] == 600 * 10**9 and d["hash"] == "siphash24"' cli-time
gives 0 '^created' create cli-first -W 700 -T 1h --mode either --first-seen
gives 0 '"inserted":1,"present":2' -j insert cli-first same same same
shows 'first-seen: a repeat is no insertion' 'd["mode"] == "either" and
	d["refresh"] == "first-seen" and d["stats"]["inserts"] == 1' cli-first

# creates_kind KIND: in a guest epfctl sizes elastic, of any size, for seconds, and apbbf if
# it is not small
creates_kind() {
	local rate=10

	if [ "$1" = elastic ] && [ -z "${EPF_THOROUGH:-}" ]; then
		claim "a filter of kind $1" make_kind "cli-$1" "$1"
		return
	fi
	[ "$1" != apbbf ] || rate=0.1
	gives 0 "^created cli-$1 .*predicted" create "cli-$1" \
		--kind "$1" --time 10m --rate $rate --budget 1e-2
}

# Other kinds
for kind in ge gebl apbf apbbf dict tlbf chain elastic; do
	creates_kind "$kind"
	gives 0 '^$' insert "cli-$kind" hello
	gives 0 '^hello present' test "cli-$kind" hello
	gives 0 "kind +$kind: .*needs +its lock" show "cli-$kind"
	shows "$kind: shown, with what it needs" "d['kind'] == '$kind' and
		d['shape'] and d['needs']['lock'] and d['needs']['worker'] and
		d['needs']['memory'] == ('$kind' in ('tlbf', 'chain')) and
		d['stats']['inserts'] == 1 and d['window_epochs'] > 1 and
		d['slices'] > 0" "cli-$kind"
	gives 0 '' clear "cli-$kind"
	gives 1 '^hello absent' test "cli-$kind" hello
done
gives 0 'cli-ge +ge +time' list
gives 0 "stats: epoch.*"$'\037'"    [0-9]+ slices of [0-9.]+ [KM]iB" \
	watch --count 1 --interval 100ms cli-tlbf
gives 0 "memory +[0-9.]+ [KM]iB"$'\037'"  slices +[0-9]+ now" show cli-tlbf
gives 0 '"slices":1,"memory_bytes":[0-9]+' -j watch --count 1 \
	--interval 100ms cli-chain
# module/images saves and restores every kind.
saved='ge tlbf dict'
[ -z "${EPF_THOROUGH:-}" ] || saved='ge gebl apbf apbbf tlbf dict chain elastic'
for kind in $saved; do
	gives 0 '' insert "cli-$kind" hello
	gives 0 "^saved cli-$kind" save "cli-$kind" "$tmp/$kind"
	gives 0 "kind +$kind: .*sound" show --file "$tmp/$kind"
	gives 0 '' clear "cli-$kind"
	gives 0 "^restored cli-new-$kind" restore "cli-new-$kind" "$tmp/$kind"
	gives 0 '^hello present' test "cli-new-$kind" hello
	gives 0 '' destroy "cli-new-$kind"
done
gives 0 '^restored cli-ge' restore --existing cli-ge "$tmp/dict"
gives 0 '"kind":"dict"' -j show cli-ge
gives 0 '^restored cli-ge' restore --existing cli-ge "$tmp/ge"
gives 0 '' swap cli-ge cli-a
shows 'swapped: lanes where ge was' 'd["kind"] == "lanes"' cli-ge
gives 0 '' swap cli-ge cli-a

# Saving and restoring
(umask 077; echo 000102030405060708090a0b0c0d0e0f > "$tmp/key")
gives 0 '^created' create cli-key -W 700 --key-file "$tmp/key"
gives 0 '^$' insert cli-key hello
gives 0 '^saved cli-key' save cli-key "$tmp/snap"
claim 'a snapshot is its owner'"'"'s alone' [ "$(stat -c %a "$tmp/snap")" = 600 ]
claim 'a snapshot has the hash key' grep -q \
	"$(printf '\001\002\003\004\005\006\007\010\t')" -a "$tmp/snap"
gives 0 'snapshot of cli-key.*sound' show --file "$tmp/snap"
gives 0 '^restored cli-new' restore cli-new "$tmp/snap"

# Declared filters
cat > "$tmp/declared.conf" << END
[filter cli-decl]
window = 700
key-file = $tmp/key
[filter cli-decl-ge]
window = 700
kind = ge
END
declared=(--state "$tmp/state" "$tmp/declared.conf")
gives 0 'create cli-decl-ge: ' apply --restore "${declared[@]}"
gives 0 '^nothing to do: 2 declared' apply "${declared[@]}"
gives 0 '^$' insert cli-decl hello
gives 0 '^$' insert cli-decl-ge hello
gives 0 'saved cli-decl-ge: 1 ' apply --save "${declared[@]}"
# Every kind is exported: nothing is to be done here, and after destroy it is made again.
kinds=(cli-decl cli-{ge,gebl,apbf,apbbf,dict,tlbf,chain,elastic})
gives 0 'kind = dict:buckets=[0-9]+,yard=' export "${kinds[@]}"
cp "$tmp/out" "$tmp/exported.conf"
gives 0 '^nothing to do: 9 declared' apply "$tmp/exported.conf"
for name in "${kinds[@]:1}"; do
	epf destroy "$name"
done
gives 0 '' apply "$tmp/exported.conf"
epf export "${kinds[@]}"
sections() { awk -v RS= '{ gsub("\n", " "); print }' "$1" | sort; }
claim 'and exported again it is the same' [ "$(sections "$tmp/out")" = "$(sections "$tmp/exported.conf")" ]
sed 's/segment_bits=/segment_bits=1/' "$tmp/exported.conf" > "$tmp/other.conf"
gives 0 '^destroy cli-ge .differs in size.' apply --dry-run "$tmp/other.conf"
for name in cli-decl cli-decl-ge; do
	epf destroy "$name"
done
gives 0 'restored cli-decl-ge: saved .* ago, 1 ' apply --restore "${declared[@]}"
for name in cli-decl cli-decl-ge; do
	gives 0 'present' test "$name" hello
	epf destroy "$name"
done
gives 0 '^hello present' test cli-new hello
gives 0 '^restored cli-a' restore --existing cli-a "$tmp/snap"
gives 0 '^hello present' test cli-a hello
shows 'restore takes the parameters of the file' \
	'd["window_inserts"] == 700 and d["name"] == "cli-a"' cli-a
fails "there is no filter 'cli-none'" restore --existing cli-none "$tmp/snap"
fails 'is not a regular file' save cli-a /dev/null
fails 'Is a directory' save cli-a "$tmp"
fails 'No such file or directory' save cli-a "$tmp/nowhere/snap"
head -c -1 "$tmp/snap" > "$tmp/cut"
fails 'is truncated' restore cli-b "$tmp/cut"
fails "there is no filter 'cli-b'" show cli-b

# Above the module's limits: what is needed, what is allowed, and the command to run
parameters=/sys/module/epochfilter/parameters
# limited NAME VALUE: the limit, until restored by unlimited
limited() { echo "$2" > "$parameters/$1"; }
unlimited() {
	limited max_filter_mib 0
	limited max_total_mib 0
	limited max_filters 1024
}
# mended ARG...: it works after the command that the last error names
mended() {
	eval "$(sed -n "s/.*, or '\(echo .*\)'\$/\1/p" "$tmp/err")" || return
	epf "$@"
	[ "$status" = 0 ] && [ ! -s "$tmp/err" ] || return
	"$EPFCTL" destroy cli-limit
	unlimited
}
mib='[0-9.]+ [KM]iB'
"$EPFCTL" save cli-many "$tmp/many" > "$tmp/out"
limited max_filter_mib 1
fails "a filter takes 3.173 MiB, and one filter may have 1 MiB \(max_filter_mib is 1\)" \
	create cli-limit -W 1M --kind ge
fails "a filter takes 1[.]$mib, and one filter may have 1 MiB" \
	restore cli-limit "$tmp/many"
fails "restoring a filter takes 1[.]$mib in addition to what it has, and one filter may" \
	restore --existing cli-a "$tmp/many"
fails "a filter takes 3.648 MiB, and one filter may have 1 MiB .*echo 5 >" \
	create cli-limit -W 1M
claim 'which then works' mended create cli-limit -W 1M
limited max_total_mib 1
fails "restoring a filter takes 1[.]$mib in addition to what it has; the filters that exist" \
	restore --existing cli-a "$tmp/many"
fails "takes 3.648 MiB; the filters that exist \([0-9]+\) have $mib, and all together may have 1 MiB \(max_total_mib is 1\)" \
	create cli-limit -W 1M
claim 'which works' mended create cli-limit -W 1M
nr=$("$EPFCTL" list --names | wc -l)
limited max_filters "$nr"
fails "there are $nr filters, and max_filters is $nr: destroy one, or 'echo $((nr + 1)) >" \
	create cli-limit -W 1M
claim 'which works too' mended create cli-limit -W 1M

# A full disk: the old file stays, and no other file is left
mkdir "$tmp/small"
mount -t tmpfs -o size=256k tmpfs "$tmp/small"
cp "$tmp/snap" "$tmp/small/snap"
fails 'No space left on device; nothing was changed' \
	save cli-many "$tmp/small/snap"
claim 'a full disk leaves the old file' cmp "$tmp/snap" "$tmp/small/snap"
claim 'a full disk leaves no other' [ "$(ls -A "$tmp/small")" = snap ]
umount "$tmp/small"

# A save that is interrupted: the old file or the new one, complete, and no other file
mkdir "$tmp/dir"
cp "$tmp/snap" "$tmp/dir/snap"
gives 0 '^created' create cli-big -W 1M --lines 2M --lines-per-key 1 \
	--bits-per-key 8
interrupted() {
	local wait

	for wait in 0.05 0.2 0.4; do
		timeout -s INT "$wait" "$EPFCTL" save cli-big "$tmp/dir/snap"
		[ "$(ls -A "$tmp/dir")" = snap ] &&
			"$EPFCTL" show --file "$tmp/dir/snap" || return
	done
}
claim 'an interrupted save leaves one whole file' interrupted
rm -r "$tmp/dir"
gives 0 '^$' destroy cli-big

# Saving during insertions: all earlier keys are in the file
seq 1000000 1050000 > "$tmp/keys"
gives 0 '^created' create cli-busy -W 1M
gives 0 '^$' insert cli-busy -f "$tmp/keys"
(seq 2000000 2400000 | "$EPFCTL" insert cli-busy -) &
inserter=$!
gives 0 '^saved' save cli-busy "$tmp/busy"
wait $inserter
gives 0 '^restored' restore cli-copy "$tmp/busy"
gives 0 '^50001 present, 0 absent' test -c cli-copy -f "$tmp/keys"

# Swapping
gives 0 '^created' create cli-other -W 7000
gives 0 '^$' insert cli-other other
gives 0 '^$' swap cli-key cli-other
gives 1 '^other present.*hello absent' test cli-key other hello
gives 1 '^other absent.*hello present' test cli-other other hello

# Failing open: 64 lines for far too many keys
gives 0 '^created' create cli-full -W 100k --lines 64 --lines-per-key 1 \
	--bits-per-key 4 --budget 1e-3
watching cli-full --count 1
seq 14000 > "$tmp/in"
gives 0 '^$' insert cli-full -
for _ in $(seq 600); do
	epf -j show cli-full
	json 'd["saturated"] and d["fpr"] > d["limit"]' && break
	"$EPFCTL" insert cli-full "$RANDOM"
	sleep 0.1
done
shows 'a filter far over its budget is saturated' \
	'd["saturated"] and d["fpr"] > d["limit"]' cli-full
fails_open() {
	epf test cli-full 14000
	[ "$status" = 3 ] && grep -q '^14000 unknown' "$tmp/out" &&
		grep -q "^error: 'cli-full' is saturated and does not know 1 of" \
			"$tmp/err"
}
claim 'a saturated filter says that it does not know' fails_open
# Its lines can still be audited: inserted keys are present, and others are certainly
# absent.
audits_saturated() {
	seq 13001 14000 > "$tmp/audit.csv"
	epf -j audit cli-full "$tmp/audit.csv" -F csv &&
		json 'd["asked"]["saturated"] and d["present"] == 1000' &&
		grep -q "'cli-full' is saturated: what is absent" "$tmp/err"
}
claim 'an audit of it says so, and misses nothing' audits_saturated
claim 'watch reported it' watched 0 'cli-full (saturated|rotated): epoch'

# Watching
watching -j cli-a --count 2
gives 0 '^epoch' rotate cli-a
for ((i = 0; i < 600; i++)); do # two events at once are merged into one
	grep -q rotated "$tmp/watch" && break
	sleep 0.1
done
gives 0 '^epoch' rotate cli-a
claim 'watch -j tells of two rotations' watched 0 \
	'"event":"rotated".*"event":"rotated"'
gives 0 'cli-a stats: epoch.*cli-a stats' watch cli-a --interval 100ms -n 2

# At most 80 columns, whatever is printed
narrow() {
	epf "$@"
	[ "$status" = 0 ] && [ -s "$tmp/out" ] &&
		awk 'length > 80 { exit 1 }' "$tmp/out"
}
long=cli-$(printf %027d 0)
gives 0 '^created' create "$long" -T 1h --rate 100k --kind tlbf
claim 'list, with a filter that is saturated and a long name' narrow list
claim 'which stands there whole' grep -qE "^[0-9]+ +$long\$" "$tmp/out"
claim 'as does that it is saturated' grep -qE \
	' cli-full +lanes +count .* [0-9]+ +0.001 +SATURATED +module$' "$tmp/out"
claim 'watch, of a long name' narrow watch "$long" --interval 100ms -n 1
claim 'show, of a long name' narrow show "$long"
gives 0 '^$' destroy "$long"

# Ended by a signal
signalled() {
	local i

	watching "$@"
	for ((i = 0; i < 600; i++)); do # a signal before it waits is not noticed
		kill -INT "$watcher" 2> /dev/null || break
		sleep 0.1
	done
	wait "$watcher"
	[ $? = 130 ] && [ ! -s "$tmp/watch" ]
}
claim 'watch, ended by SIGINT: exit status 130, and no word of it' \
	signalled cli-other

# Destroying a filter that is held
watching cli-a
fails "'cli-a' is held by" destroy cli-a
shows 'the watcher is the one user' 'd["users"] == 1' cli-a
gives 0 '^$' destroy cli-a --force
claim 'watch ends when its filter is destroyed' watched 2 \
	"^error: 'cli-a' was destroyed"
fails "there is no filter 'cli-a'" show cli-a

# An ordinary user
ROOT_EPFCTL=$EPFCTL
EPFCTL=$tmp/nobody
chmod 755 "$tmp"
cat > "$EPFCTL" <<SCRIPT
#!/bin/sh
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$ROOT_EPFCTL" "\$@"
SCRIPT
chmod 755 "$EPFCTL"
fails 'may not be opened by this user: run as root' list
chmod 666 /dev/epochfilter
gives 0 'cli-key' list
gives 0 '^cli-other ' show cli-other
gives 0 '^hello present' test cli-other hello
fails 'creating a filter needs CAP_NET_ADMIN: run as root' create cli-x -W 100
for verb in 'insert cli-other x' 'test cli-other --insert x' \
	'destroy cli-other' 'rotate cli-other' 'clear cli-other' \
	'swap cli-key cli-other' 'save cli-other /tmp/cli-nobody'; do
	# shellcheck disable=SC2086
	fails 'needs CAP_NET_ADMIN: run as root' $verb
done
claim 'a refused save leaves no file' [ -z "$(compgen -G '/tmp/cli-nobody*')" ]
gives 0 'missing +right to change' doctor
EPFCTL=$ROOT_EPFCTL
chmod 600 /dev/epochfilter

# README: who may do what. A member of the group, by the lines of README.
readme=$top/README.md
# readme_line BEGIN: runs as root the command that begins so
readme_line() {
	sed -n "s/^    \(sudo $1.*\)/\1/p" "$readme" | sed 's/ \+#.*//; s/sudo //g'
}
# commands WHO: prints the commands of the row of WHO, one a line, without operands
commands() {
	grep "^| $1" "$readme" | grep -o '`[^`]*`' | tr -d '`' | grep -v '^epochfilter$'
}
# operands_for VERB...: prints the complete command
operands_for() {
	case $* in
	plan) words=(plan -W 1) ;;
	build) words=(build "$tmp/theirs/built" --time 1h --rate 10 -F csv --separator ' ' --fields 2
		--stamp 1 "$tmp/log") ;;
	'test --snapshot') words=(test --snapshot "$tmp/good" --digest 0000000000000000) ;;
	dedup) words=(dedup "$tmp/in.pcap" /dev/null) ;;
	'show --file') words=(show --file "$tmp/good") ;;
	merge) words=(merge -o "$tmp/theirs/merged" "$tmp/host1" "$tmp/host2") ;;
	audit) words=(audit "$tmp/good" "$tmp/digest" -F column --digests --no-agent) ;;
	'audit --digests --place live') words=(audit cli-other "$tmp/digest" -F column
		--no-agent --digests --place live) ;;
	show | rotate | clear | destroy) words=("$1" cli-other) ;;
	test | insert) words=("$1" cli-other hello) ;;
	'test --insert') words=(test --insert cli-other hello) ;;
	watch) words=(watch cli-other -n 1 --interval 100ms) ;;
	create) words=(create cli-x -W 100) ;;
	swap) words=(swap cli-key cli-other) ;;
	save) words=(save cli-other "$tmp/theirs/saved") ;;
	restore) words=(restore cli-other "$tmp/good") ;;
	attach) words=(attach cli-veth2 --filter cli-other --key flow --action count) ;;
	detach) words=(detach cli-veth1) ;;
	*) words=("$@") ;;
	esac
}
# may RIGHT WHO: can WHO run all of the row, as RIGHT says: may, or not?
may() {
	local command lines=0

	while read -r command; do
		# shellcheck disable=SC2086
		operands_for $command
		epf "${words[@]}"
		lines=$((lines + 1))
		if [ "$1" = may ]; then
			{ [ "$status" -le 1 ] || [ "$command" = doctor ]; } && ! grep -q 'as root' "$tmp/err"
		else
			[ "$status" = 2 ] && grep -q 'run as root' "$tmp/err"
		fi || { # print which command it was
			echo "${words[*]}" >> "$tmp/err"
			return 1
		}
	done < <(commands "$2")
	[ "$lines" -ge 3 ]
}
mksnap "$tmp/good" && chmod 644 "$tmp/good"
mkhost "$tmp/host1" && mkhost "$tmp/host2" id=2 && chmod 644 "$tmp/host1" "$tmp/host2"
head -c 8 /dev/zero > "$tmp/digest"
echo '1700000000 hello' > "$tmp/log"
mkdir -m 777 "$tmp/theirs"
python3 -IS - "$tmp/in.pcap" << 'PYTHON'
import sys
sys.path.insert(0, "../dedup")
import pcap
pcap.Capture([pcap.Packet(0, bytes(60))]).save(sys.argv[1])
PYTHON
getent group epochfilter > /dev/null || groupadd --system epochfilter
sed "s/setpriv .* --clear-groups/setpriv --reuid nobody --regid nogroup --init-groups/" \
	"$tmp/nobody" > "$tmp/member"
chmod 755 "$tmp/member"
EPFCTL=$tmp/member
fails 'may not be opened by this user: run as root' list
claim "README's first row: what anybody may" may may anybody
claim "README's usermod" env USER=nobody sh -c "$(readme_line usermod)"
claim "README's chgrp" sh -c "$(readme_line chgrp)"
claim 'README: what the group may' may may 'the group'
claim 'and anybody still' may may anybody
modprobe veth # an interface to attach to
ip link add cli-veth1 type veth peer name cli-veth2
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
"$ROOT_EPFCTL" attach cli-veth1 --filter cli-other --key flow --action count > "$tmp/out"
for row in 'root, or CAP_NET_ADMIN |' 'root, or CAP_NET_ADMIN and'; do
	claim "README: what takes $row" may 'may not' "$row"
done
"$ROOT_EPFCTL" detach cli-veth1
ip link del cli-veth1
udev_gives() {
	/lib/systemd/systemd-udevd --daemon 2> /dev/null || return
	udevadm trigger /sys/class/misc/epochfilter && udevadm settle &&
		[ "$(stat -c %a:%U:%G /dev/epochfilter)" = 660:root:epochfilter ]
}
chown root:root /dev/epochfilter
chmod 600 /dev/epochfilter
if [ -x /lib/systemd/systemd-udevd ]; then
	mkdir -p /run/udev/rules.d
	cp "$top/packaging/60-epochfilter.rules" /run/udev/rules.d/
	claim "udev's rule gives the device to the group" udev_gives
	claim 'which then may' may may 'the group'
else
	ktap_skip "udev's rule" 'no udev'
	ktap_skip 'the group by it' 'no udev'
fi
EPFCTL=$ROOT_EPFCTL
chown root:root /dev/epochfilter
chmod 600 /dev/epochfilter

gives 0 'ok +device' doctor

# On a terminal, as on filters that are pure BPF (watch.py)
views() {
	EPF_ALONE=1 EPF_BACKEND=module ./watch.py 'bars and figures' 'small terminals' Ctrl-C > "$tmp/view" 2>&1
	status=$?
	grep -v '^ok' "$tmp/view" > "$tmp/out"
	return "$status"
}
if /usr/bin/python3 -c 'import pyte' 2> /dev/null; then
	claim 'the view shows filters of the module' views
else
	ktap_skip 'the view shows filters of the module' 'needs python3-pyte'
fi
ktap_finish
