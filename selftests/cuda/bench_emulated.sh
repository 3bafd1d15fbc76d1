#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The benchmark of the card from end to end, emulated: its output is complete and its
# checks pass. Times are not judged, and the report contains none.

. "$(dirname "$0")/lib.sh"

command -v python3 > /dev/null || ktap_skip_all 'no python3'
command -v "${CXX:-c++}" > /dev/null || ktap_skip_all "no ${CXX:-c++}"
card_folder

run() {
	EPF_OUT=$tmp cuda/bench/gpu.sh --emulated
}

# usage: json EXPRESSION; evaluates it on the run b; r(part) gives its records by part
json() {
	python3 - "$tmp/bench.json" "$1" << 'PY'
import json, sys
with open(sys.argv[1]) as f:
    b = json.load(f)
def r(part, **having):
    return [x for x in b["records"] if x["part"] == part and
            all(x.get(k) == v for k, v in having.items())]
sys.exit(not eval("(" + sys.argv[2] + ")"))
PY
}

no_card() {
	EPF_EMU_DEVICES=0 run > "$tmp/said" 2> "$tmp/why"
	[ $? -eq 4 ] && [ ! -s "$tmp/said" ] && [ "$(wc -l < "$tmp/why")" -eq 1 ]
}

no_card_here() {
	cuda/bench/gpu.sh > "$tmp/said" 2> "$tmp/why"
	[ $? -eq 4 ] && [ ! -s "$tmp/said" ] && [ "$(wc -l < "$tmp/why")" -eq 1 ]
}

# A hint that the card rejects is no error.
no_hint() {
	EPF_EMU_L2=20 "${BUILD:-build}/bench/gpu/epf_bench_gpu_emulated" --emulated gathers \
		> "$tmp/no_hint" 2> "$tmp/why" && [ "$(wc -l < "$tmp/why")" -eq 1 ] &&
		grep -q '^gathers: no other granularity' "$tmp/why" &&
		! grep '"granularity"' "$tmp/no_hint" && grep -q '"end"' "$tmp/no_hint"
}

# A failed run is reported, and so is one that ended early.
not_whole() {
	! python3 cuda/bench/report.py "$tmp/early.jsonl" "$tmp" > "$tmp/said" &&
		grep -q '^the run ended early$' "$tmp/said"
}

law_broken() {
	! python3 cuda/bench/report.py "$tmp/broken.jsonl" "$tmp" > "$tmp/said" &&
		grep -q '^law: bitmap and ages are the core.s: BROKEN$' "$tmp/said"
}

ktap_plan 18
ktap_check 'no card: exit 4 and one line' no_card
if [ -e /dev/nvidiactl ] || [ -e /dev/nvidia0 ] || nvidia-smi -L > /dev/null 2>&1; then
	ktap_skip 'no driver: exit 4 and one line' 'there is one'
else
	ktap_check 'no driver: exit 4 and one line' no_card_here
fi
ktap_check 'the whole run' run
ktap_check 'a card without a granularity of its L2' no_hint
ktap_check 'JSON: whole, and said to be emulated' json 'b["whole"] and b["emulated"]'
ktap_check 'ceilings of 32, 64, 128 bytes at each size' json \
	'{x["line_bytes"] for x in r("gather")} == {32, 64, 128} and
	all(x["per_s"] > 0 for x in r("gather"))'
ktap_check 'a question at each size, with and without ages' json \
	'len(r("query")) == 2 * 6 and {(x["lines_a_key"], x["ages"]) for x in r("query")} ==
	{(l, a) for l in (1, 2, 4) for a in ("no", "yes")}'
ktap_check 'rivals in all forms, no live key missing' json \
	'all({x["form"] for x in r(p, name="classic")} == {"early", "wave", "all"} and
	{x["name"] for x in r(p)} == {"lanes", "lanes, equal error", "classic", "cells", "counting"} and
	not any(x["missing"] for x in r(p)) for p in ("paper", "rivals"))'
ktap_check 'forms of a filter find the same' json \
	'all(len({(x["error"], x["missing"]) for x in r(p, name=n, window=w)}) == 1
	for p in ("paper", "rivals") for n in ("lanes", "classic")
	for w in {x["window"] for x in r(p)})'
ktap_check 'equal bytes, and error as expected' json \
	'all(abs(x["bytes"] * 8 / x["window"] - x["bits_a_key"]) < 0.1 and
	abs(x["error"] / {"lanes": .0875, "counting": .19}.get(x["name"], .0228) - 1) < 0.4
	for x in r("rivals"))'
ktap_check 'the oldest keys are there' json \
	'len(r("oldest")) == 2 and not any(x["missing"] for x in r("oldest"))'
ktap_check 'the error is within its interval' json \
	'all(x["low"] <= x["error"] <= x["high"] for x in r("error")) and len(r("error")) == 2'
ktap_check 'fill, fresh keys, journal, rotation, link' json \
	'all(r(p) for p in ("granularity", "fill", "fresh", "journal", "rotation", "copy")) and
	len(r("link")) == 10'
ktap_check 'all laws were tried, and hold' json 'len(b["laws"]) == 8 and all(b["laws"].values())'
ktap_check 'what tells of speed is not measured, the rest is met' json \
	'[x["state"] for x in b["reach"]] == ["not measured"] * (len(b["reach"]) - 3) + ["met"] * 3 and
	len(b["reach"]) == 18'
if command -v gnuplot > /dev/null; then
	ktap_check 'plots' test -s "$tmp/ceilings.png" -a -s "$tmp/rivals.svg"
else
	ktap_skip 'plots' 'no gnuplot'
fi
grep -v '"end"' "$tmp/records.jsonl" > "$tmp/early.jsonl"
sed '/"law": "bitmap and ages/s/"yes"/"no"/' "$tmp/records.jsonl" > "$tmp/broken.jsonl"
ktap_check 'a run that ended early fails' not_whole
ktap_check 'a run in which a law is broken fails' law_broken
ktap_finish
