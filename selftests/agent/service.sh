#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks the agent's units as systemd reads them, their security rating, and that every
# program, option and key they name exists.

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

# verified: systemd reports nothing about the two units
verified() {
	systemd-analyze verify --man=no "$tmp/epfagent.service" \
		"$tmp/epfagent.socket" > "$tmp/said" 2>&1
	! grep epfagent "$tmp/said"
}

# declared: nor about those of declared filters
declared() {
	local unit

	for unit in epochfilter.service epochfilter-save.service epochfilter-save.timer; do
		sed "s|@BINDIR@/epfctl|$build/user/epfctl|; s|@CREDENTIALS@||" \
			"$top"/user/epfctl/$unit* > "$tmp/$unit" || return
	done
	systemd-analyze verify --man=no "$tmp"/epochfilter{,-save}.service \
		"$tmp/epochfilter-save.timer" > "$tmp/said" 2>&1
	! grep epochfilter "$tmp/said"
}

# widened DROP-IN: nor about this one, which is indeed read
widened() {
	mkdir -p "$tmp/epfagent.service.d" &&
		cp "$top/user/epfagent/$1" "$tmp/epfagent.service.d/" && verified &&
		echo 'NoSuchKey=yes' >> "$tmp/epfagent.service.d/$1" && ! verified &&
		rm -r "$tmp/epfagent.service.d"
}

# tight: the exposure level of 100; a unit without settings has 96
tight() {
	systemd-analyze security --offline=true --threshold=25 \
		"$tmp/epfagent.service"
}

# stays: after any number of failures it is started again, and when it hangs
stays() {
	grep -qx 'Restart=on-failure' "$tmp/epfagent.service" && grep -qx 'RestartSec=2' "$tmp/epfagent.service" &&
		grep -qx 'StartLimitIntervalSec=0' "$tmp/epfagent.service" &&
		grep -qx 'WatchdogSec=[1-9][0-9]*' "$tmp/epfagent.service"
}

# alike: client and agent use the same path of the socket
alike() {
	local path

	path=$(sed -n 's/^#define AGENT_SOCKET "\(.*\)"/\1/p' \
		"$top/user/jobs/agent.h")
	grep -qxF "ListenSequentialPacket=$path" "$tmp/epfagent.socket"
}

# each key of the settings is in --help and in the manual
told() {
	local key

	for key in $("$agent" --help | sed -n 's/^  --\([a-z-]*\) .*/\1/p'); do
		grep -qF -- "$key" "$top/docs/epfagent.8.rst" || return 1
	done
}

# refuses REGEX ARG...: fails with one line
refuses() {
	timeout 60 "$agent" "${@:2}" > "$tmp/said" 2>&1
	[ $? = 2 ] && [ "$(wc -l < "$tmp/said")" = 1 ] &&
		grep -qE "^error: .*$1" "$tmp/said"
}

# one_device: access to the device itself, and after its module is loaded
one_device() {
	local path

	path=$(sed -n 's/^#define EPF_DEVICE "\(.*\)"/\1/p' \
		"$top/include/uapi/linux/epochfilter.h")
	grep -qx 'DevicePolicy=closed' "$tmp/epfagent.service" &&
		[ "$(grep '^DeviceAllow=' "$tmp/epfagent.service")" = \
			"DeviceAllow=$path rw" ] &&
		grep -qx "Wants=modprobe@epochfilter.service" "$tmp/epfagent.service" &&
		grep -qx "After=modprobe@epochfilter.service" "$tmp/epfagent.service"
}

# without_libsystemd: make says so in one line, and builds no agent and no units
without_libsystemd() {
	mkdir -p "$tmp/include/systemd"
	echo '#error none' > "$tmp/include/systemd/sd-daemon.h"
	make -C "$top/user" BUILD="$build" CPPFLAGS="-I$tmp/include" CLANG=none \
		missing > "$tmp/said" 2>&1 || return
	[ "$(grep -c 'libsystemd-dev' "$tmp/said")" = 1 ] || return
	make -n -C "$top/user" BUILD="$build" DESTDIR="$tmp/root" \
		CPPFLAGS="-I$tmp/include" CLANG=none install > "$tmp/said" 2>&1 || return
	! grep -q 'epfagent\.socket\|epfagent\.service\|bin/epfagent\|-o .*epfagent ' \
			"$tmp/said" && grep -q 'bin/epfctl' "$tmp/said"
}

# activated: it takes the socket handed over, and reports that it is ready
activated() {
	python3 "$here/activate.py" "$agent"
}

BUILD_DIE=${EPF_AGENT_BIN:-$build/selftests/agent}/die.so
env_refuses() {
	export EPF_NO_LISTEN=1 LD_PRELOAD=$BUILD_DIE
	refuses "$@"
	local ret=$?
	unset EPF_NO_LISTEN LD_PRELOAD
	[ "$ret" = 0 ] && [ ! -e "$tmp/sock" ]
}

none='--config /dev/null'
ktap_plan 24
if command -v systemd-analyze > /dev/null; then
	ktap_check 'systemd reads the units without a word' verified
	ktap_check 'and those of declared filters' declared
	ktap_check 'nor with the drop-in for a GPU' widened gpu.conf
	ktap_check 'nor with that for a cluster' widened cluster.conf
	ktap_check 'exposure of 2.5 of 10 at most' tight
else
	ktap_skip 'systemd reads the units without a word' 'no systemd-analyze'
	ktap_skip 'and those of declared filters' 'no systemd-analyze'
	ktap_skip 'nor with the drop-in for a GPU' 'no systemd-analyze'
	ktap_skip 'nor with that for a cluster' 'no systemd-analyze'
	ktap_skip 'exposure of 2.5 of 10 at most' 'no systemd-analyze'
fi
ktap_check 'it is started again whatever fails, however often' stays
ktap_check 'the socket is where clients look for it' alike
ktap_check 'all settings are in the manual' told
ktap_check 'the unit opens the device of the module, and no other' one_device
ktap_check 'without libsystemd make says so, and there is no agent' without_libsystemd
ktap_check 'it takes a socket, and tells that it is ready' activated
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
	ktap_check 'a mode that results cannot have' refuses "mode=1777" $none \
		--watch /tmp=f:mode=1777
	ktap_check 'nor one that keeps their owner out' refuses "mode=440" $none \
		--watch /tmp=f:mode=440
	ktap_check 'a group of results that there is not' refuses 'no such group' $none \
		--watch /tmp=f:group=no-such-group
	ktap_check 'a path that needs a backslash' refuses "before a '=' or ':'" $none \
		--watch '/tmp\=f'
	ktap_check 'no configuration file' refuses "$tmp/none" --config "$tmp/none"
	ktap_check 'no place for the socket' refuses "$tmp/none/sock" $none \
		--socket "$tmp/none/sock"
	if [ -e "$BUILD_DIE" ]; then
		# shellcheck disable=SC2034 # read by the program
		ktap_check 'a socket that cannot be listened on' env_refuses "$tmp/sock: Address" \
			$none --socket "$tmp/sock"
	else
		ktap_skip 'a socket that cannot be listened on' 'die.so is not built'
	fi
}
ktap_finish
