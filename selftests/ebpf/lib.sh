# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2329 # what the script has; what it calls
#
# For the scripts that try filters which are pure BPF, sourced. They have
#
#	$tmp                a directory of theirs
#	$a                  the filter that is held
#	use VERB...         epfctl, as whoever may use that filter
#	there COMMAND...    in the network namespace of v0 and v1, a veth pair
#
# Functions that run a command say "${instead:-} COMMAND", so that $holder is the command.

# usage: says TEXT COMMAND...: fails in one line with this text
says() {
	local text=$1 said
	shift
	said=$("$@" 2>&1 > /dev/null) && return 1
	echo "$said"
	[ "$(wc -l <<< "$said")" -eq 1 ] && grep -q -- "$text" <<< "$said"
}

# usage: present NAME FIRST LAST: prints how many of these keys are present
present() {
	seq "$2" "$3" | use test "$1" - | grep -c ' present'
}

knows() {
	use insert "$a" probe && use test "$a" probe
} > /dev/null

# usage: holding COMMAND...: starts a holder, sets $holder, and waits until it holds
holding() {
	: > "$tmp/held" # or the line of the previous holder would be found
	instead=exec "$@" > "$tmp/held" &
	holder=$!
	until grep -q holding "$tmp/held"; do
		kill -0 "$holder" 2> /dev/null || return
		sleep .02
	done
}

# usage: goes_on COMMAND...: the same, and waits until it ends epochs
goes_on() {
	holding "$@" || return
	until knows; do
		kill -0 "$holder" 2> /dev/null || return
		sleep .02
	done
}

holder=
let_go() {
	[ -z "$holder" ] || { kill -CONT "$holder"; kill -KILL "$holder"; wait "$holder"; }
	holder=
} 2> /dev/null
ktap_cleanup let_go

# Sends 100 frames of 100 flows into v1, each twice.
frames() {
	there python3 - <<- 'END'
		import socket
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind(("v1", 0))
		for i in range(100):
		    udp = bytes([4, i, 0, 9, 0, 12, 0, 0]) + i.to_bytes(4, "big")
		    ip = bytes([0x45, 0, 0, 32, 0, i, 0, 0, 64, 17, 0, 0,
		                10, 0, 0, 1, 10, 0, 0, 2])
		    frame = bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + ip + udp
		    s.send(frame)
		    s.send(frame)
	END
}

# usage: count PATTERN: prints the packets on v0 whose outcome and verdict match
count() {
	use status v0 | awk -v what="$1" '$1 " " $2 ~ what && $4 == "packets" { n += $3 } END { print n + 0 }'
}

# Of 100 frames, each sent twice, 100 are recent on v0, with $verdict: drop, unless it is set.
drops() {
	frames || return
	SECONDS=0
	until [ "$(count .)" -ge 200 ]; do
		[ "$SECONDS" -lt 60 ] || return
		sleep .05
	done
	use status v0
	[ "$(count "^recent ${verdict:-drop}\$") $(count '^absent pass$')" = '100 100' ]
}
