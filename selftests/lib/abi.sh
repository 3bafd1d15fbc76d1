#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# libepf.so has everything that its last release had, unchanged (scripts/abi.sh). EPF_SO names
# another library.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

so=${EPF_SO:-${BUILD:-build}/user/libepf.so.1}
command -v abidiff > /dev/null || ktap_skip_all 'abidiff is missing: make deps'

# Functions of the node LIBEPF_1, which never changes.
first_node() {
	sed -n '/^LIBEPF_1 {/,/^}/s/^\t\(libepf_[a-z_]*\);$/\1/p' user/lib/libepf.map | sort
}

described() {
	sed -n "s/.*<elf-symbol name='\([a-z_]*\)' version='LIBEPF_1'.*/\1/p" user/lib/libepf.abi | sort
}

ktap_plan 2
ktap_check 'nothing that was released is removed or changed' scripts/abi.sh check "$so"
ktap_is 'libepf.abi has all functions of the first version' "$(described)" "$(first_node)"
ktap_finish
