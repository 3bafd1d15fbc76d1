# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# For the scripts that try broken variants, sourced; $tmp is theirs.

# usage: says PATTERN PROGRAM [ARG]...
# Does it print a line like that, however it goes on? The first one ends it, so
# that a variant that never ends costs no time.
says() {
	[ -p "$tmp/said" ] || mkfifo "$tmp/said" || return
	pattern=$1
	shift
	# In the foreground: it ends with the script.
	timeout --foreground 3000 "$@" > "$tmp/said" 2>&1 &
	pid=$!
	grep -m 1 -E "$pattern" < "$tmp/said"
	said=$?
	kill "$pid" 2> /dev/null
	wait "$pid"
	return $said
}
