# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # $tmp
# test --within, for either backend: filters that are asked with keys of every age. Sourced
# by scripts that have $tmp, and a function
#	asks ARG...   epfctl, to $tmp/out and $tmp/err; its exit status

# usage: aged NAME: inserts the keys 0 .. 8, key N N epochs ago; the last one is
# forgotten. No other cause ends an epoch of NAME meanwhile.
aged() {
	local age

	for age in 8 7 6 5 4 3 2 1 0; do
		asks insert "$1" "$age" || return
		[ "$age" = 0 ] || asks rotate "$1" || return
	done
}

# usage: lines_within N: prints the output of test for these keys if N epochs count
lines_within() {
	local age

	for age in 0 1 2 3 4 5 6 7 8; do
		if [ "$age" -le "$1" ]; then
			echo "$age present age $age"
		else
			echo "$age absent"
		fi
	done
}

# usage: ages_within NAME AGE N: does --within AGE mean N epochs of NAME, in text and JSON,
# in counts and exit status?
ages_within() {
	local keys='0 1 2 3 4 5 6 7 8' young json

	young=${keys::2*$3+1}
	# shellcheck disable=SC2086 # words
	{
		asks test "$1" --within "$2" $keys
		[ $? = 1 ] && lines_within "$3" | cmp - "$tmp/out" || return
		asks test "$1" --within "$2" -c $keys
		[ $? = 1 ] && [ "$(< "$tmp/out")" = "$(($3 + 1)) present, $((8 - $3)) absent, 0 unknown" ] ||
			return
		asks test "$1" --within "$2" -q $young && [ ! -s "$tmp/out" ] || return
		asks test "$1" --within "$2" -j "$3" $(($3 + 1))
		[ $? = 1 ] || return
	}
	json=$(printf '{"key":"%s","present":%s}' "$3" "true,\"age\":$3" $(($3 + 1)) false)
	[ "$(tr -d ' \n' < "$tmp/out")" = "$json" ]
}

# usage: each_age NAME: tries every number of epochs. NAME has the keys of aged().
each_age() {
	local n

	for n in 1 2 3 4 5 6 7; do
		ages_within "$1" "$n" "$n" || return
	done
}

# usage: each_duration NAME: tries durations, which are rounded up. NAME has the keys of
# aged(), and --time 7000s.
each_duration() {
	local n

	for n in 1 3 7; do
		ages_within "$1" "${n}000s" "$n" && ages_within "$1" "$((n - 1))000001ms" "$n" || return
	done
}

# usage: bad_within NAME TEXT AGE: is --within AGE refused, in one line with TEXT?
bad_within() {
	asks test "$1" --within "$3" 0
	[ $? = 2 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -q -- "^error: --within .*$2" "$tmp/err"
}

# usage: bad_ages NAME: tries invalid ages
bad_ages() {
	bad_within "$1" 'too small' 0 && bad_within "$1" 'not a number' -1 &&
		bad_within "$1" 'too large: at most 7' 8 && bad_within "$1" 'not a number' often &&
		bad_within "$1" 'not a number' '' && bad_within "$1" 'no unit' 1.5 &&
		bad_within "$1" 'too small' 0s
}
