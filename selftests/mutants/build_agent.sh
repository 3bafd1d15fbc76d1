# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the agent, for run.

# The agent's threads decide which of two requests is ready first.
attempts() {
	local _
	for _ in 1 2 3 4 5 6; do
		finishes "$@" && return
	done
	return 1
}

build_agent() {
	script 3000 EPF_AGENT="$tmp/epfagent" BUILD="$build" EPF_PATIENCE=30
	judge=attempts
	relink broken epfagent
}

# Its client.
build_client() {
	script 60 EPF_CTL="$tmp/epfctl" BUILD="$build" EPF_PATIENCE=10
	judge=finishes
	relink broken-ctl epfctl
}
