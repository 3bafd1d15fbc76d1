# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts of this directory share: one claim, one run of epfctl.
#
# A failure is one line on standard error that begins with "error:", or is
# {"error":"..."} where -j or -p is given, exit status 2, and nothing on standard
# output.

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
# shellcheck source=../ktap.sh
. ../ktap.sh
top=$(cd ../.. && pwd)
EPFCTL=${EPF_CTL:-$top/build/user/epfctl}
# As in the runner: pure BPF filters, which this machine may have, are not used.
export EPF_BACKEND=${EPF_BACKEND:-module}
built=$top/build/selftests/cli
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
nothing=$tmp/.nothing
: > "$nothing"

[ -x "$EPFCTL" ] || ktap_skip_all "$EPFCTL is not there: run make"
[ -x "$built/mkhost" ] || ktap_skip_all 'mkhost is not there: make -C selftests/cli'

# The functions below use bash built-ins where possible, because starting a process is
# slow in a guest.

# epf ARG...: runs it, and sets status, $tmp/out and $tmp/err. Reads $tmp/in.
epf() {
	local in=$tmp/in

	[ -e "$in" ] || in=$nothing
	"$EPFCTL" "$@" < "$in" > "$tmp/out" 2> "$tmp/err"
	status=$?
	[ "$in" = "$nothing" ] || rm -f "$in"
	return 0
}

# seen: prints the output of the last run, for diagnostics.
seen() {
	echo "exit status $status"
	sed 's/^/out: /' "$tmp/out" | head -5
	sed 's/^/err: /' "$tmp/err" | head -5
}

# needs_module PREFIX: makes sure that it is loaded; in a VM loads it, elsewhere skips
# everything. Filters whose names begin with PREFIX are destroyed, now and at the end;
# others are not touched.
needs_module() {
	[ "$(id -u)" = 0 ] || ktap_skip_all 'needs root'
	if [ ! -e /dev/epochfilter ]; then
		[ -n "${EPF_VM:-}" ] || ktap_skip_all 'the module is not loaded'
		insmod "${EPF_KO:-$top/build/kmod/epochfilter.ko}" ||
			ktap_skip_all 'the module does not load'
	fi
	sweep "$1"
	ktap_cleanup sweep "$1"
}

# usage: sweep PREFIX
sweep() {
	"$EPFCTL" list --names | sed -n "s/^$1/destroy --force &/p" | "$EPFCTL" batch --force -
	chmod 600 /dev/epochfilter
}

# make_kind NAME KIND: creates it in the module. See module/make_kind.c: epfctl takes seconds to
# size some kinds in a guest.
make_kind() {
	local program=$top/build/selftests/module/make_kind

	if [ -x "$program" ]; then
		"$program" "$@"
	else
		"$EPFCTL" create "$1" --kind "$2" --time 10m --rate 10 --budget 1e-2
	fi
}

# needs_inject: builds the device that is a directory, inject.c, as $tmp/inject.so. EPF_CC compiles for
# the tool, which may be of another architecture than this script.
needs_inject() {
	"${EPF_CC:-${CC:-cc}}" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -fPIC -shared \
		-I"$top/include/uapi" inject.c -o "$tmp/inject.so" ||
		ktap_skip_all 'inject.c needs a compiler'
}

# verdict DESCRIPTION GOOD: prints one test line. A statistical claim is preceded by
# chance=1e-9, the probability that it fails by chance.
verdict() {
	local name=${1//[$'\n\033#']/?}

	name=${name::100}${chance:+ # chance $chance}
	if [ "$2" = yes ]; then
		ktap_ok "$name"
	else
		ktap_fail "$name" "$(seen)"
	fi
}

# claim DESCRIPTION COMMAND ARG...: the command succeeds; its output is hidden.
claim() {
	if "${@:2}" > /dev/null 2>&1; then
		verdict "$1" yes
	else
		verdict "$1" no
	fi
}

# flat FILE: sets $flat to it, newlines as \037, NUL as ?
flat() {
	local part

	flat=
	while IFS= read -r -d '' part; do
		flat+="$part?"
	done < "$1"
	flat+=$part
	flat=${flat//$'\n'/$'\037'}
}

# gives STATUS REGEX ARG...: the output, with newlines as \037, matches, and stderr is
# empty.
gives() {
	local want=$1 regex=$2 good=no

	shift 2
	epf "$@"
	flat "$tmp/out"
	[ "$status" = "$want" ] && [ ! -s "$tmp/err" ] && [[ $flat =~ $regex ]] && good=yes
	verdict "$* -> $want" $good
}

# error_of ARG...: sets $begins to the beginning of its error line
error_of() {
	local word

	begins='^error: '
	for word; do
		case $word in
		--) break ;;
		-j | -p | --json | --pretty) begins='^\{"error":"' && return ;;
		esac
	done
}

# one_error STATUS REGEX ARG...: does epf ARG... end with this status, and one line?
one_error() {
	local lines

	[ "$status" = "$1" ] && [ ! -s "$tmp/out" ] || return
	mapfile lines < "$tmp/err"
	error_of "${@:3}"
	[ ${#lines[@]} = 1 ] && [[ ${lines[0]} = *$'\n' && ${lines[0]%$'\n'} =~ $begins.*$2 ]]
}

# fails REGEX ARG...: a failure, whose line matches.
fails() {
	local regex=$1 good=no

	shift
	epf "$@"
	one_error 2 "$regex" "$@" && good=yes
	verdict "$* -> error" $good
}

# flip FILE AT: changes the byte at AT
flip() {
	local byte

	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf "\\x$(printf %x $((byte ^ 0xa5)))" | \
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# mksnap FILE [FAULT]: see mksnap.c.
mksnap() {
	"$built/mksnap" "$@"
}

# mkhost FILE WHAT=NUMBER...: see mkhost.c.
mkhost() {
	"$built/mkhost" "$@"
}

# One process judges all, as each would take long to start in a guest. A subshell that
# is the first to ask has one of its own.
json_start() {
	rm -f "$tmp/.ask" "$tmp/.told"
	mkfifo "$tmp/.ask" "$tmp/.told" || return
	python3 -IS -c 'import json, os, sys
asked = b""
while got := os.read(0, 65536):
    asked += got
    while b"\0" in asked:
        text, _, asked = asked.partition(b"\0")
        try:
            with open(sys.argv[1]) as file:
                good = eval("(" + text.decode() + ")", {"d": json.load(file)})
        except Exception:
            good = False
        print("yes" if good else "no", flush=True)' "$tmp/out" < "$tmp/.ask" > "$tmp/.told" &
	disown
	exec {json_ask}> "$tmp/.ask" {json_told}< "$tmp/.told"
}

# json FILTER: does $tmp/out hold JSON of which this python expression on d is
# true?
json() {
	local good=no

	[ -n "${json_ask:-}" ] || json_start || return
	printf '%s\0' "$1" >&"$json_ask" && read -r good <&"$json_told"
	[ "$good" = yes ]
}
