#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl merge: its output and messages, and what it refuses.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

mkhost "$tmp/a" id=1 epoch=58 ||
	ktap_skip_all 'mkhost.c needs a compiler and libxxhash-dev'
ktap_plan 63

# refuses REGEX WHAT=NUMBER...: refuses a second host that differs in this
refuses() {
	mkhost "$tmp/b" id=2 "${@:2}"
	fails "$1" merge -o "$tmp/all" "$tmp/a" "$tmp/b"
}

# warns REGEX ARG...: succeeds, with one line of warning
warns() {
	local regex=$1 good=no

	shift
	epf "$@"
	[ "$status" = 0 ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -qE -- "^warning: .*$regex" "$tmp/err" && good=yes
	verdict "$* -> warning" $good
}

# Usage
mkhost "$tmp/b" id=2 epoch=1003 ago=9000
mkhost "$tmp/c" id=3 epoch=77 ago=100
gives 0 '^usage: epfctl merge -o FILE' merge --help
fails 'too few arguments' merge -o "$tmp/all"
fails 'no result is named: give -o FILE' merge "$tmp/a"
fails 'unknown option --frob' merge --frob
fails '-o needs a value' merge "$tmp/a" -o

# Three hosts
gives 0 "^merged 3 snapshots into $tmp/all: .*, 240 insertions, false-positive rate" \
	merge -o "$tmp/all" "$tmp/a" "$tmp/b" "$tmp/c"
claim 'a merged snapshot is its owner'"'"'s alone' \
	[ "$(stat -c %a "$tmp/all")" = 600 ]
gives 0 'snapshot of host.*checksums +sound' show --file "$tmp/all"
gives 0 '"sources":\[' -j merge "$tmp/a" "$tmp/b" "$tmp/c" -o "$tmp/again"
claim 'JSON tells of all and of each' json \
	'd["inserts"] == 240 and d["epoch_end"] == 1003 and
	0 < d["fpr"] <= d["budget"] < d["limit"] and not d["saturated"] and len(d["sources"]) == 3 and
	[s["epochs"] for s in d["sources"]] == [8, 7, 8] and
	d["sources"][1]["behind_ns"] == 9 * 10**9'
claim 'the same again is the same file' cmp "$tmp/all" "$tmp/again"
gives 0 '^merged 2 snapshots' merge -o "$tmp/more" "$tmp/all" "$tmp/c"
lines() { tail -c $((64 * 64)) "$1"; }
claim 'what is in it already adds nothing' \
	cmp <(lines "$tmp/more") <(lines "$tmp/all")
gives 0 '^merged 1 snapshots' merge -o "$tmp/one" "$tmp/a"
gives 0 '^merged 2 snapshots' merge -o "$tmp/ab" "$tmp/a" "$tmp/b"
claim 'another host does' eval '! cmp -s <(lines "$tmp/ab") <(lines "$tmp/one")'

# Snapshots that do not fit together
refuses "another hash key than .*/a: create filters that will be merged with the same --key-file" key=2
refuses 'another hash than .*the same --hash' hash=1
# made DESCRIPTION KIND KIND KIND: the result of merging two; 1 bytes, 2 frames
made() {
	mkhost "$tmp/p" id=1 made="$2"
	mkhost "$tmp/q" id=2 made="$3"
	epf merge -o "$tmp/pq" "$tmp/p" "$tmp/q" && epf -j show --file "$tmp/pq"
	claim "$1" json "d['keys']['kind'] == '$4'"
}
made 'keys of one kind make keys of it' 1 1 bytes
made 'unrecorded in one: unrecorded' 1 0 unknown
made 'also where it is the first' 0 2 unknown
made 'several kinds stay several' 5 1 mixed
mkhost "$tmp/p" id=1 made=1
mkhost "$tmp/q" id=2 made=2
fails "/q and .*/p have keys that are made of different things: merge only" \
	merge -o "$tmp/pq2" "$tmp/p" "$tmp/q"
refuses 'other lines, lines per key or bits per key than' lines=128
refuses 'other lines, lines per key or bits per key than' bits=8
refuses 'another window than .*same --time' window=60
refuses 'its epochs end by insertions' mode=3
refuses 'its epochs do not end with those of the wall clock: create filters with --align, or merge with --loose' off=3000
fails '/b: its epochs do not end' merge -o "$tmp/all" "$tmp/b" "$tmp/a"
gives 0 '^merged 2 snapshots' merge --loose -o "$tmp/loose" "$tmp/a" "$tmp/b"
mkhost "$tmp/b" id=2 off=1000
gives 0 '^merged 2 snapshots' merge -o "$tmp/late" "$tmp/a" "$tmp/b"
cp "$tmp/a" "$tmp/copy"
fails '/a is the same snapshot as .*/a: leave one out' \
	merge -o "$tmp/all" "$tmp/a" "$tmp/a"
fails '/copy is the same snapshot as .*/a: leave one out' \
	merge -o "$tmp/all" "$tmp/b" "$tmp/a" "$tmp/copy"
mksnap "$tmp/count"
fails '/count: its epochs end by insertions' merge -o "$tmp/all" "$tmp/count"
mksnap "$tmp/version" version
fails 'is of a version this program does not know' \
	merge -o "$tmp/all" "$tmp/a" "$tmp/version"
head -c -1 "$tmp/a" > "$tmp/cut"
fails '/cut is truncated' merge -o "$tmp/all" "$tmp/a" "$tmp/cut"
fails '/nowhere: No such file' merge -o "$tmp/all" "$tmp/a" "$tmp/nowhere"
fails '/dev/null is not a regular file' merge -o "$tmp/all" /dev/null
mapfile -t many < <(yes "$tmp/a" | head -n 257)
fails '257 snapshots are more than the 256' merge -o "$tmp/all" "${many[@]}"

# Outputs
cp "$tmp/all" "$tmp/before"
fails 'is one of the snapshots, so it cannot be the result' merge -o "$tmp/a" "$tmp/b" "$tmp/a"
ln -s a "$tmp/soft"
ln "$tmp/b" "$tmp/hard"
fails 'is one of the snapshots, so it cannot be the result' merge -o "$tmp/soft" "$tmp/a" "$tmp/b"
fails 'is one of the snapshots, so it cannot be the result' merge -o "$tmp/hard" "$tmp/a" "$tmp/b"
fails '/dev/null is not a regular file: give another path' \
	merge -o /dev/null "$tmp/a" "$tmp/b"
fails 'Is a directory; nothing was changed' merge -o "$tmp" "$tmp/a"
fails 'No such file or directory; nothing was changed' \
	merge -o "$tmp/no/all" "$tmp/a"
claim 'a merge that fails leaves the old file' cmp "$tmp/all" "$tmp/before"
claim 'and no other' [ -z "$(compgen -G "$tmp/all.*")" ]
short() { # above the shell's limit on file sizes
	(ulimit -f 1; trap '' XFSZ; "$EPFCTL" merge -o "$tmp/all" "$tmp/a" "$tmp/b") \
		> "$tmp/out" 2> "$tmp/err"
	[ $? = 2 ] && grep -q '^error: .*File too large; nothing was changed' "$tmp/err" &&
		cmp -s "$tmp/all" "$tmp/before" && ! compgen -G "$tmp/all.*"
}
claim 'a file that cannot grow is an error, and the old one stays' short

# Too many keys, and too old ones
mkhost "$tmp/x" id=4 keys=100 budget=10000000000
mkhost "$tmp/y" id=5 keys=100 budget=10000000000
mkhost "$tmp/z" id=6 keys=100 budget=10000000000
warns 'too many keys together: [0-9.]+ is above the limit of 0.02, so what the result finds is not known' \
	merge -o "$tmp/full" "$tmp/x" "$tmp/y" "$tmp/z"
unknown() {
	seq 2000 > "$tmp/in"
	epf test --snapshot "$tmp/full" -q -
	one_error 3 'does not know [1-9][0-9]* of the keys, because its error of [0-9.]+ is above its limit of 0.02'
}
claim 'test does not know what it finds there' unknown
gives 0 '"saturated":true' -j show --file "$tmp/full"
warns 'is above the budget of 0.01$' \
	merge -o "$tmp/full" "$tmp/x" "$tmp/y" "$tmp/z" --limit never
gives 0 'never fails open' show --file "$tmp/full"
gives 0 '"saturated":false' -j show --file "$tmp/full"
fails '--limit 0.001 is below the budget of 0.01' \
	merge -o "$tmp/full" "$tmp/x" --limit 1e-3
mkhost "$tmp/old" id=7 epoch=58 ago=100000
warns '/old is older than the window: nothing of it is left' \
	merge -o "$tmp/left" "$tmp/a" "$tmp/old"
claim 'and nothing of it is there' \
	cmp <(lines "$tmp/left") <(lines "$tmp/one")

# Interrupted, and with little memory
for id in 1 2 3 4 5 6; do
	mkhost "$tmp/big$id" "id=$id" lines=$((1 << 19)) # 32 MiB
done
gives 0 '^merged 6 snapshots' merge -o "$tmp/huge" "$tmp"/big?
rss() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
sys.exit(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 80 << 10)' \
		"$EPFCTL" merge -o "$tmp/huge" "$tmp"/big?
}
if [ "${EPF_QEMU:-}" = qemu-s390x ]; then
	ktap_skip 'six snapshots of 32 MiB do not take the memory of three' 'a big-endian CPU has copies in its byte order'
else
	claim 'six snapshots of 32 MiB do not take the memory of three' rss
fi
cp "$tmp/huge" "$tmp/before"
interrupted() {
	local wait

	for wait in 0.02 0.1 0.2; do
		timeout -s INT "$wait" "$EPFCTL" merge -o "$tmp/huge" "$tmp"/big?
		cmp -s "$tmp/huge" "$tmp/before" &&
			! compgen -G "$tmp/huge.*" || return
	done
}
claim 'one that is interrupted leaves one whole file' interrupted

fails '--align needs a window of --time alone' create x -W 100 --align
fails '--align needs a snapshot of a window of --time' \
	restore x "$tmp/count" --align
fails '--align needs a window of --time alone' create x -T 10s --rate 9 \
	--align --kind ge
ktap_finish
