# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Loading and removing both modules, for the scripts of this suite; sourced behind ktap.sh.
# shellcheck disable=SC2034 # for the scripts

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
built=$top/build/selftests/module
ko=${EPF_KO:-$top/build/kmod/epochfilter.ko}
broken=${EPF_TORTURE_DIR:-$top/build/selftests/torture}/broken

[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'

insmod_both() {
	insmod "$1" && insmod "$2"
}

# Replaces the module under test by that of the stress test, in which much can be stopped.
insmod_broken() {
	rmmod epochfilter_kinds 2> /dev/null
	rmmod epochfilter 2> /dev/null
	insmod_both "$broken/epochfilter.ko" "$broken/epochfilter_kinds.ko"
}

# Loads the module under test again.
insmod_again() {
	remove epochfilter_kinds
	rmmod epochfilter
	insmod "$ko"
}

# Removes module $1 if it is loaded. The memory of destroyed filters keeps it for a grace period.
remove() {
	[ -d "/sys/module/$1" ] || return 0
	for _ in $(seq 100); do
		rmmod "$1" 2> /dev/null && return
		sleep 0.2
	done
	rmmod "$1"
}
