#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# usage: boot.sh [--timeout SECONDS] NAME|PROGRAM[,PROGRAM]...
#
# Boots one guest for the line NAME of selftests/boots, or for the programs given, after a build of
# the module if its sources have changed. Prints
# what runner.sh prints inside the guest. The exit status is that of vm/run.sh.
# EPF_VM_OPTIONS holds further options.

set -u
here=$(cd "$(dirname "$0")" && pwd)

seconds=5400
if [ "${1:-}" = --timeout ]; then
	seconds=$2
	shift 2
fi
read -r _ kernel cpus _ programs < <(awk -v name="${1:-}" '$1 == name' "$here/boots")
case ${1:-} in
torture/*) kernel=stock cpus=4 programs=${1//,/ } ;;
*/*) kernel=stock cpus=2 programs=${1//,/ } ;;
esac
[ -n "${programs:-}" ] || { echo "boot.sh: no line '${1:-}' in $here/boots" >&2; exit 2; }

tests=$("$here/tests.sh" --guest) || exit 2
paths=()
for program in $programs; do
	found=$(awk -v name="$program" '$1 == name { print $3 }' <<< "$tests")
	[ -n "$found" ] || { echo "boot.sh: $1: no test $program for a guest" >&2; exit 2; }
	paths+=("$found")
done

if [ "$kernel" != stock ]; then
	EPF_VM_OPTIONS="--smp $cpus ${EPF_VM_OPTIONS:-}" exec "$here/kernels.sh" --together \
		"${paths[@]}" -- "$kernel"
fi
# Boots that begin together build one after another. EPF_BUILT: check.sh has built the module.
if [ -z "${EPF_KO:-}${EPF_BUILT:-}" ]; then
	mkdir -p "$here/../build" && flock "$here/../build" make -s --no-print-directory -C "$here/../kmod" >&2 || exit 125
fi
# shellcheck disable=SC2086 # a list of options
exec "$here/vm/run.sh" --smp "$cpus" --timeout $((2 * seconds)) ${EPF_VM_OPTIONS:-} -- \
	"$here/runner.sh" -t "$seconds" "${paths[@]}"
