# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# KTAP for shell suites, sourced:
#
#	. "$(dirname "$0")/ktap.sh"
#	[ "$(id -u)" -eq 0 ] || ktap_skip_all 'needs root'
#	ktap_plan 3
#	ktap_cleanup ip netns del a
#	ktap_check 'ping crosses the bridge' ip netns exec a ping -c 1 10.0.0.2
#	ktap_is 'one packet passed' "$(count)" 1
#	ktap_skip 'XDP in native mode' 'driver has none'
#	ktap_finish
#
# Guarantees: a suite that ends without ktap_finish, or with another number of results
# than planned, fails; cleanups run in reverse order however the suite ends. Exit status:
# 0 passed, 1 failed, 4 everything skipped.

ktap_planned=0
ktap_count=0
ktap_failed=0
ktap_skipped=0
ktap_finished=
ktap_cleanups=
ktap_log=$(mktemp) || exit 1

# usage: ktap_plan RESULTS [WITH_EPF_THOROUGH]
ktap_plan() {
	ktap_planned=$1
	[ -z "${EPF_THOROUGH:-}" ] || ktap_planned=${2:-$1}
	echo 'TAP version 13'
	echo "1..$ktap_planned"
}

# usage: ktap_thorough COMMAND [ARG]...: runs it only if EPF_THOROUGH is set
ktap_thorough() {
	[ -z "${EPF_THOROUGH:-}" ] || "$@"
}

# Diagnostics: each line of the arguments becomes a comment.
ktap_diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

ktap_ok() {
	ktap_count=$((ktap_count + 1))
	echo "ok $ktap_count $1"
}

# usage: ktap_fail NAME [WHY]
ktap_fail() {
	ktap_count=$((ktap_count + 1))
	ktap_failed=$((ktap_failed + 1))
	echo "not ok $ktap_count $1"
	[ -z "${2:-}" ] || ktap_diag "$2"
}

# usage: ktap_skip NAME REASON
ktap_skip() {
	ktap_count=$((ktap_count + 1))
	ktap_skipped=$((ktap_skipped + 1))
	echo "ok $ktap_count $1 # SKIP $2"
}

# usage: ktap_check NAME COMMAND [ARG]...
# The command runs in this shell, so functions may set variables; its output
# is shown when it fails.
ktap_check() {
	ktap_name=$1
	shift
	if "$@" > "$ktap_log" 2>&1; then
		ktap_ok "$ktap_name"
	else
		ktap_fail "$ktap_name" "exit $?: $*"
		sed 's/^/#   /' "$ktap_log"
	fi
}

# usage: ktap_refuse NAME COMMAND [ARG]... Passes when the command itself fails, not when
# a signal ends it or when it is missing.
ktap_refuse() {
	ktap_name=$1
	shift
	if "$@" > "$ktap_log" 2>&1; then
		set -- 0 "$*"
	else
		set -- $? "$*"
	fi
	if [ "$1" -gt 0 ] && [ "$1" -lt 126 ]; then
		ktap_ok "$ktap_name"
	else
		ktap_fail "$ktap_name" "exit $1, should have been refused: $2"
		sed 's/^/#   /' "$ktap_log"
	fi
}

# usage: ktap_is NAME GOT WANTED
ktap_is() {
	if [ "$2" = "$3" ]; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "got '$2', wanted '$3'"
	fi
}

# Skips the whole suite, because it cannot run here. Call it before ktap_plan only.
ktap_skip_all() {
	echo 'TAP version 13'
	echo "1..0 # SKIP $1"
	ktap_finished=1
	exit 4
}

# usage: ktap_cleanup COMMAND [ARG]... Adds a command to run when the suite ends. Its exit
# status is ignored.
ktap_cleanup() {
	ktap_line=
	for ktap_word in "$@"; do
		ktap_line="$ktap_line '$(printf '%s' "$ktap_word" | sed "s/'/'\\\\''/g")'"
	done
	ktap_cleanups="$ktap_line
$ktap_cleanups"
}

ktap_finish() {
	ktap_finished=1
	echo "# passed $((ktap_count - ktap_failed - ktap_skipped)) failed $ktap_failed skipped $ktap_skipped"
	if [ "$ktap_count" -ne "$ktap_planned" ]; then
		ktap_diag "planned $ktap_planned, ran $ktap_count"
		exit 1
	fi
	[ "$ktap_failed" -eq 0 ] || exit 1
	[ "$ktap_skipped" -lt "$ktap_count" ] || exit 4
	exit 0
}

ktap_at_exit() {
	ktap_status=$?
	trap - EXIT
	trap '' INT TERM HUP
	eval "$ktap_cleanups" > /dev/null 2>&1
	rm -f "$ktap_log"
	if [ -z "$ktap_finished" ]; then
		ktap_diag "ended early, exit $ktap_status, after $ktap_count of $ktap_planned"
		[ "$ktap_status" -ne 0 ] && [ "$ktap_status" -ne 4 ] || ktap_status=1
	fi
	exit "$ktap_status"
}

trap ktap_at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
