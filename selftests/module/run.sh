#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs all tests of the module in one boot of a VM (or here, if this is a VM):
#
#	make -C kmod && make -C selftests/module && selftests/module/run.sh
#
# Arguments are names of programs to run instead of all. EPF_KO names another module,
# EPF_VM_OPTIONS further options for the guest.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=${here%/*/*}
progs=$(make -s --no-print-directory -C "$here" list) || exit 1
for name in "$@"; do
	picked="$picked $(echo "$progs" | grep -E "/$name(\.sh)?\$")" || {
		echo "run.sh: no test '$name'; there are: $(echo "$progs" | sed 's|.*/||' | paste -s -d ' ')" >&2
		exit 2
	}
done

# shellcheck disable=SC2086 # lists of paths and options
if [ -n "${EPF_VM:-}" ]; then
	exec "$top/selftests/runner.sh" ${picked:-$progs}
else
	exec "$top/selftests/vm/run.sh" --timeout 5400 ${EPF_VM_OPTIONS:-} -- \
		"$top/selftests/runner.sh" ${picked:-$progs}
fi
