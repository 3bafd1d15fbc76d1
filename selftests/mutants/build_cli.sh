# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of epfctl, for run.

build_ctl() {
	script 300 EPF_CTL="$tmp/epfctl" EPF_PATIENCE=10
	judge=finishes
	relink broken-ctl epfctl
}
