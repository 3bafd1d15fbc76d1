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
python3 -IS - "$tmp" << 'PYTHON'
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
		[ $epoch = 0 ] || echo "rotate $1"
		echo "insert $1 --format hex -f $tmp/hex.$epoch"
		echo "insert $1 --digest -f $tmp/digests.$epoch"
	done | "$EPFCTL" batch - > "$tmp/out"
}

# asked NAME FILE ARG...: the module's own answers, as ages, to FILE: keys of each age, and
# absent ones
asked() {
	"$EPFCTL" -j test "$1" "${@:3}" | sed '1s/^/[/; $!s/$/,/; $s/$/]/' > "$tmp/out"
	json "(lambda ages: open('$2', 'wb').write(ages) == 2400 and
		all(ages.count(a) >= 195 for a in range(8)) and ages.count(255) >= 750
		)(bytes(v.get('age', 255) for v in d))"
}
# same WANTED ARG...: an audit gives these ages, and their bitmap
same() {
	rm -f "$tmp/b" "$tmp/a"
	epf -j audit "${@:2}" -b "$tmp/b" -a "$tmp/a"
	[ "$status" = 0 ] && cmp -s "$tmp/a" "$1" &&
		json "(lambda ages, bits: len(bits) == 300 and
			all(bits[i // 8] >> i % 8 & 1 == (a != 255) for i, a in enumerate(ages))
			)(*(open(path, 'rb').read() for path in ('$1', '$tmp/b')))"
}
placed() { json "d['asked']['place'] == '$1'"; }

digests=(--format column --digests)
for lines in 1 4; do
	name=audit-$lines
	"$EPFCTL" create $name -W 70k --lines-per-key $lines > "$tmp/out" &&
		fill $name || exit 1
	claim "$name: the module answers with all ages" \
		asked $name "$tmp/keys.ages" --format hex -f "$tmp/hex"
	asked $name "$tmp/digests.ages" --digest -f "$tmp/digests"
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
