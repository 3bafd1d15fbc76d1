#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The agent's units as systemd reads them, how open they leave the machine, and
# that they name no program, option or key that there is not.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ktap.sh"

top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
agent=${EPF_AGENT:-$build/user/epfagent}
[ -x "$agent" ] || ktap_skip_all 'epfagent is not built'

tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
for unit in service socket; do
	sed "s|@BINDIR@/epfagent|$agent|" "$top"/user/epfagent/epfagent.$unit* \
		> "$tmp/epfagent.$unit"
done

# verified: nothing is said of the two units
verified() {
	systemd-analyze verify --man=no "$tmp/epfagent.service" \
		"$tmp/epfagent.socket" > "$tmp/said" 2>&1
	! grep epfagent "$tmp/said"
}

# widened: nor of the drop-in for a GPU, which does come to be read
widened() {
	mkdir -p "$tmp/epfagent.service.d" &&
		cp "$top/user/epfagent/gpu.conf" "$tmp/epfagent.service.d/" && verified &&
		echo 'NoSuchKey=yes' >> "$tmp/epfagent.service.d/gpu.conf" && ! verified &&
		rm -r "$tmp/epfagent.service.d"
}

# tight: of 100, where a unit without settings has 96
tight() {
	systemd-analyze security --offline=true --threshold=25 \
		"$tmp/epfagent.service"
}

# alike: the socket is where client and agent look for it
alike() {
	local path

	path=$(sed -n 's/^#define AGENT_SOCKET "\(.*\)"/\1/p' \
		"$top/user/audit/agent.h")
	grep -qxF "ListenSequentialPacket=$path" "$tmp/epfagent.socket"
}

# each key of the settings is in --help and in the manual
told() {
	local key

	for key in $("$agent" --help | sed -n 's/^  --\([a-z-]*\) .*/\1/p'); do
		grep -qF -- "$key" "$top/docs/epfagent.8.rst" || return 1
	done
}

# refuses REGEX ARG...: one line of an error
refuses() {
	"$agent" "${@:2}" > "$tmp/said" 2>&1
	[ $? = 2 ] && [ "$(wc -l < "$tmp/said")" = 1 ] &&
		grep -qE "^error: .*$1" "$tmp/said"
}

# activated: it takes the socket that it is handed over, says that it is ready
activated() {
	python3 "$here/activate.py" "$agent"
}

none='--config /dev/null'
ktap_plan 14
if command -v systemd-analyze > /dev/null; then
	ktap_check 'systemd reads the units without a word' verified
	ktap_check 'nor with the drop-in for a GPU' widened
	ktap_check 'exposure of 2.5 of 10 at most' tight
else
	ktap_skip 'systemd reads the units without a word' 'no systemd-analyze'
	ktap_skip 'nor with the drop-in for a GPU' 'no systemd-analyze'
	ktap_skip 'exposure of 2.5 of 10 at most' 'no systemd-analyze'
fi
ktap_check 'the socket is where clients look for it' alike
ktap_check 'all settings are in the manual' told
if ldd "$agent" | grep -q libsystemd; then
	ktap_check 'it takes a socket, and tells that it is ready' activated
else
	ktap_skip 'it takes a socket, and tells that it is ready' 'built without libsystemd'
fi
# shellcheck disable=SC2086 # two words
{
	ktap_check 'a bad number' refuses "--jobs '0'" $none --jobs 0
	ktap_check 'an unknown option' refuses "'--none'" $none --none
	ktap_check 'an operand' refuses "'word'" $none word
	ktap_check 'an unknown group' refuses 'no such group' $none \
		--allow-gid no-such-group
	ktap_check 'a watch without a filter' refuses 'DIR=FILTER' $none --watch /tmp
	ktap_check 'a watch with an unknown option' refuses "'x'" $none \
		--watch /tmp=f:x
	ktap_check 'no configuration file' refuses "$tmp/none" --config "$tmp/none"
	ktap_check 'no place for the socket' refuses "$tmp/none/sock" $none \
		--socket "$tmp/none/sock"
}
ktap_finish
