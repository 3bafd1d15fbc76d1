#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Seen anywhere in the cluster: three filters get disjoint keys, are saved, merged and
# restored. Loads build/kmod/epochfilter.ko (or EPF_KO) in a VM; elsewhere it must be
# loaded.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_module merge-
ktap_plan 40

(umask 077; echo 000102030405060708090a0b0c0d0e0f > "$tmp/key")
KEYS=2000
# Sized for the keys of all hosts within a window, which does not end meanwhile.
like=(--time 1h --rate 17 --budget 1e-4 --key-file "$tmp/key")

# Prints the keys of host $1.
keys() {
	seq "$((1000000 * $1))" "$((1000000 * $1 + KEYS - 1))"
}

# present NUMBER NAME HOST: does filter NAME have so many keys of HOST?
present() {
	keys "$3" > "$tmp/in"
	epf -j test -c "$2" -
	claim "$1 keys of host $3 in $2" json "d['present'] == $1"
}

# Their epochs are far apart, as if the filters were of different age
for host in 1 2 3; do
	gives 0 "^created merge-$host" create "merge-$host" "${like[@]}" --align
	epf rotate "merge-$host" -n $((2 * host))
	keys "$host" > "$tmp/in"
	gives 0 '^$' insert "merge-$host" -
done
epf -j show merge-1
claim 'show -j tells that it is aligned' json 'd["aligned"]'
gives 0 'aligned +epochs end by the wall clock' show merge-1

# Explicit rotations ended epochs away from the multiples of the wall clock.
for host in 1 2 3; do
	gives 0 '^saved' save "merge-$host" "$tmp/$host"
done
gives 0 '^merged 3 snapshots' merge --loose -o "$tmp/all" "$tmp/1" "$tmp/2" "$tmp/3"
gives 0 '^restored merge-loose' restore merge-loose "$tmp/all" --align
epf -j show merge-loose
claim 'restore --align makes an aligned one' json 'd["aligned"]'
for host in 1 2 3; do
	present $KEYS merge-loose $host
done

# Filters whose epochs end by the wall clock
for host in 1 2 3; do
	epf destroy "merge-$host"
	epf create "merge-$host" "${like[@]}" --align
	keys "$host" > "$tmp/in"
	epf insert "merge-$host" -
	gives 0 '^saved' save "merge-$host" "$tmp/$host"
	sleep 0.3
done
gives 0 '^merged 3 snapshots' merge -o "$tmp/all" "$tmp/3" "$tmp/1" "$tmp/2"
gives 0 '^created merge-all' create merge-all "${like[@]}" --align
gives 0 '^restored merge-all' restore merge-all "$tmp/all"
for host in 1 2 3; do
	present $KEYS merge-all $host
done
gives 0 '^2000000 present age [0-7]' test merge-all 2000000
keys 4 > "$tmp/in"
epf -j test -c merge-all -
# At most 0.2 are expected; more than 8 less than once in 10^9 runs
claim 'keys that no host has seen are not there' json 'd["present"] <= 8'
epf -j show merge-all
claim 'the restored filter is aligned, and counts the keys of all' json \
	"d['aligned'] and d['stats']['inserts'] == 3 * $KEYS and
	 d['fpr'] <= d['budget']"
epf -j merge -o "$tmp/again" "$tmp/1" "$tmp/2" "$tmp/3"
claim 'the rate that merge tells is within the budget' json \
	'd["fpr"] <= d["budget"]'

# The merged snapshot continues as a filter, and is merged again
keys 5 > "$tmp/in"
gives 0 '^$' insert merge-all -
gives 0 '^saved' save merge-all "$tmp/more"
present $KEYS merge-all 5
present $KEYS merge-all 1

# A filter with another hash key is refused
epf create merge-other "${like[@]:0:6}" --align
epf save merge-other "$tmp/other"
fails 'another hash key than .*with the same --key-file' \
	merge -o "$tmp/all" "$tmp/1" "$tmp/other"

# Keys forgotten on all hosts are forgotten
for host in 1 2 3; do
	epf clear "merge-$host"
	epf save "merge-$host" "$tmp/$host"
done
gives 0 '^merged 3 snapshots' merge --loose -o "$tmp/all" "$tmp/1" "$tmp/2" "$tmp/3"
gives 0 '^restored merge-all' restore merge-all "$tmp/all"
for host in 1 2 3; do
	present 0 merge-all $host
done
ktap_finish
