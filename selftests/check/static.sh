#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module passes the checkers of kernel code. `make check-static` has the slower ones, too.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../ktap.sh"
top=$here/../..
PATH=$PATH:/usr/sbin:/sbin
build=/lib/modules/$("$top/scripts/deps.sh" --kernel 2> /dev/null)/build

# usage: finds_nothing TOOL NEED: NEED is a command or a file; without it TOOL is skipped
finds_nothing() {
	if command -v "$2" > /dev/null || [ -e "$2" ]; then
		ktap_check "$1 finds nothing" "$top/scripts/static.sh" "$1"
	else
		ktap_skip "$1 finds nothing" "$2 is missing: scripts/deps.sh debug"
	fi
}

source=/usr/src/linux-source-6.12.tar.xz
ktap_plan 4
finds_nothing kerneldoc "$build/scripts/kernel-doc"
finds_nothing sparse sparse
finds_nothing checkpatch "$source"
if [ -z "${EPF_THOROUGH:-}" ]; then
	ktap_skip 'coccinelle finds nothing' 'takes minutes: EPF_THOROUGH=1'
elif [ ! -e "$source" ]; then
	ktap_skip 'coccinelle finds nothing' "$source is missing: scripts/deps.sh debug"
else
	finds_nothing coccinelle spatch
fi
ktap_finish
