# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Loading and removing both modules, for the scripts of this suite.

insmod_both() {
	insmod "$1" && insmod "$2"
}

# Removes module $1. The memory of destroyed filters keeps it for a grace period.
remove() {
	for _ in $(seq 100); do
		rmmod "$1" 2> /dev/null && return
		sleep 0.2
	done
	rmmod "$1"
}
