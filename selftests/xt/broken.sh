#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Modules with one edit fail the case that is about it. The edits are in broken.py.
# shellcheck source=selftests/ktap.sh disable=SC1091
. "$(dirname "$0")/../ktap.sh"

here=$(dirname "$0")
built=$here/../../build/selftests/xt/broken
[ -n "${EPF_VM:-}" ] || ktap_skip_all 'this is no VM'
[ -e "$built/xt_epf.ko" ] || ktap_skip_all "$built/xt_epf.ko is not built"
[ -z "${EPF_KO:-}" ] || ktap_skip_all 'it is built for the stock kernel'

unload() {
	rmmod xt_epf epochfilter 2> /dev/null
	[ ! -d /sys/module/epochfilter ]
}

tries=10 # of a case that waits for a softirq to come at the right moment

# usage: caught NAME MODULE EDIT CASE: one that fails otherwise does not count
caught() {
	unload || ktap_diag 'the modules are in use'
	if [ "$2" = xt ]; then set -- "$1" 0 "$3" "$4"; else set -- "$1" "$3" 0 "$4"; fi
	for _ in $(seq $tries); do
		EPF_KO=$built/epochfilter.ko EPF_KO_BROKEN=$2 EPF_XT_BROKEN=$3 \
			"$here/xt.py" "$4" > "$ktap_log.of" 2>&1 || break
	done
	if grep -q "^not ok .*$4" "$ktap_log.of"; then
		ktap_ok "$1"
	else
		ktap_fail "$1" "$(cat "$ktap_log.of")"
	fi
}

ktap_cleanup rm -f "$ktap_log.of"
ktap_cleanup unload
ktap_plan 5 11
unload || ktap_skip_all 'the modules are in use'
EPF_KO=$built/epochfilter.ko EPF_KO_BROKEN=0 EPF_XT_BROKEN=0 \
	ktap_check 'no edit: all is well' "$here/xt.py" 'iptables-nft: a rule holds'
caught 'a rule without a reference' xt 1 'iptables-nft: a rule holds'
caught 'what is unknown counts as new' xt 2 'saturated: --unknown accept'
caught 'the filter in a slot of the CPU' xt 3 'learning is never lost'
ktap_thorough caught 'the name of a filter that is gone' xt 4 'iptables-legacy: rules beside'
ktap_thorough caught 'rules that nobody looks at' xt 5 'wrong sizes and numbers'
caught 'bytes in pages are not read' ko 1 'keys are those of the model'
ktap_thorough caught 'filters for everybody' ko 2 'user namespace'
ktap_thorough caught 'an epoch less' ko 3 'recent, new'
ktap_thorough caught 'learn-new inserts everything' ko 4 'recent, new'
ktap_thorough caught 'learn-new inserts nothing while saturated' ko 5 'learning goes on'
ktap_finish
