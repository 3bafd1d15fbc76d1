#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl audit of live filters, in place and copied, against the module's own answers
# (epfctl test). Loads build/kmod/epochfilter.ko (or EPF_KO) in a VM; elsewhere it must be
# loaded.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_module audit-
ktap_plan 28

# Keys of 8 bytes, from eight epochs and from none; the same bytes as digests
python3 - "$tmp" << 'PYTHON'
import random, sys
tmp, rng = sys.argv[1], random.Random(5)
keys = [rng.randbytes(8) for _ in range(2400)]
open(tmp + "/column", "wb").write(b"".join(keys))
open(tmp + "/hex", "w").write("".join(k.hex() + "\n" for k in keys))
open(tmp + "/digests", "w").write("".join(k[::-1].hex() + "\n" for k in keys))
for epoch in range(10):
    for name in "hex", "digests":
        lines = open(tmp + "/" + name).readlines()[epoch * 200:][:200]
        open(f"{tmp}/{name}.{epoch}", "w").writelines(lines)
PYTHON
fill() {
	local epoch

	for epoch in 0 1 2 3 4 5 6 7 8 9; do
		[ $epoch = 0 ] || "$EPFCTL" rotate "$1" > "$tmp/out" || return
		"$EPFCTL" insert "$1" --format hex -f "$tmp/hex.$epoch" &&
			"$EPFCTL" insert "$1" --digest -f \
				"$tmp/digests.$epoch" || return
	done
}

# asked NAME FILE ARG...: prints the module's own answers, as ages
asked() {
	"$EPFCTL" -j test "$1" "${@:3}" > "$tmp/verdicts"
	python3 - "$tmp/verdicts" "$2" << 'PYTHON'
import json, sys
ages = bytes(json.loads(line).get("age", 255) for line in open(sys.argv[1]))
open(sys.argv[2], "wb").write(ages)
PYTHON
}
# Keys of each age, and absent ones
of_all_ages() {
	python3 -c 'import sys
ages = open(sys.argv[1], "rb").read()
sys.exit(len(ages) != 2400 or any(ages.count(a) < 195 for a in range(8)) or
	ages.count(255) < 750)' "$1"
}
# same WANTED ARG...: an audit gives these ages, and their bitmap
same() {
	rm -f "$tmp/b" "$tmp/a"
	epf -j audit "${@:2}" -b "$tmp/b" -a "$tmp/a"
	[ "$status" = 0 ] && cmp -s "$tmp/a" "$1" &&
		python3 -c 'import sys
ages, bits = (open(p, "rb").read() for p in sys.argv[1:])
sys.exit(any(bits[i // 8] >> i % 8 & 1 != (a != 255)
	for i, a in enumerate(ages)) or len(bits) != 300)' "$1" "$tmp/b"
}
placed() { json "d['asked']['place'] == '$1'"; }

digests=(--format column --digests)
for lines in 1 4; do
	name=audit-$lines
	"$EPFCTL" create $name -W 70k --lines-per-key $lines > "$tmp/out" &&
		fill $name || exit 1
	asked $name "$tmp/keys.ages" --format hex -f "$tmp/hex"
	asked $name "$tmp/digests.ages" --digest -f "$tmp/digests"
	claim "$name: the module answers with all ages" of_all_ages \
		"$tmp/keys.ages"
	for place in live copy; do
		claim "$name, $place: keys as the module answers" \
			same "$tmp/keys.ages" $name "$tmp/column" --key-len 8 \
			--place $place
		claim "$name, $place: that is where it was asked" placed $place
		claim "$name, $place: digests as the module answers" \
			same "$tmp/digests.ages" $name "$tmp/column" \
			"${digests[@]}" --place $place
	done
	"$EPFCTL" save $name "$tmp/snap" > "$tmp/out"
	claim "$name: the same of its snapshot" \
		same "$tmp/keys.ages" "$tmp/snap" "$tmp/column" --key-len 8
done
claim 'by itself, few keys are asked in place' \
	same "$tmp/keys.ages" audit-4 "$tmp/column" --key-len 8
claim 'and it says so' placed live
epf -j audit audit-4 "$tmp/column" --key-len 8 --engine scalar
claim 'epochs have their times; the filter its estimate' \
	json 'all(a["began_ago_ns"] > 0 for a in d["ages"]) and
		d["asked"]["epoch_after"] == d["asked"]["epoch"] and
		d["asked"]["fpr"] <= 1e-4 and d["present"] >= 1600'

# Obstacles
fails 'neither a filter nor a file' audit audit-none "$tmp/column" --key-len 8
fails '--resume needs' audit audit-4 "$tmp/column" --key-len 8 -b "$tmp/b" --resume
"$EPFCTL" create audit-ge -W 7k --kind ge > "$tmp/out"
fails 'only be audited from a copy' audit audit-ge "$tmp/column" --key-len 8 --place live
"$EPFCTL" -j audit audit-ge "$tmp/column" --key-len 8 > "$tmp/out" 2> "$tmp/err"
claim 'of another kind a copy is asked' placed copy
chmod 666 /dev/epochfilter
chmod 755 "$tmp"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
as_user() {
	"${user[@]}" "$EPFCTL" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
}
as_user -j audit audit-4 "$tmp/column" "${digests[@]}"
claim 'a user may ask for digests, in place' placed live
refuses() {
	as_user "${@:2}"
	[ "$status" = 2 ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -q "$1" "$tmp/err"
}
claim 'but not for keys: the hash key is not his' refuses \
	'hash key .* needs CAP_NET_ADMIN' audit audit-4 "$tmp/column" --key-len 8
claim 'nor for a copy' refuses 'copy of .* needs CAP_NET_ADMIN' \
	audit audit-4 "$tmp/column" "${digests[@]}" --place copy
ended() {
	"$EPFCTL" rotate audit-4 --count 8 > "$tmp/out"
	epf -j audit audit-4 "$tmp/column" --key-len 8 --place live
	json 'd["present"] == 0'
}
claim 'when the window has ended, nothing is present' ended
claim 'a snapshot taken before knows them all still' \
	same "$tmp/keys.ages" "$tmp/snap" "$tmp/column" --key-len 8

ktap_finish
